"""Figures of `find`: a byte string that is nowhere, beside ripgrep and beside decompression alone.

All are CPU seconds of one core, the least of some rounds in turns, with the files in the page cache. Ours are
of this process, without its start. ripgrep is given a directory, as `find` is of whole log directories; it
reads files then, and maps them if it is given few by name, which `find` does not (a bad sector kills a
process that maps): that figure has no goal.
"""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path

from tests.bench import codecs, ours, programs
from tests.bench.corpora import CODECS, Corpus
from tests.bench.processes import Figure, ProcessError, attempt

NEEDLE = b"zebra-needle-zz"
_ROUNDS = 8


def measure(corpora: Mapping[str, Corpus]) -> list[Figure]:
    """All of them."""
    figures = attempt("find-plain", lambda: beside_ripgrep(corpora["json170"]))
    for codec in CODECS:
        figures += attempt(f"find-{codec}", partial(beside_decompression, corpora[codec]))
    return figures


def beside_ripgrep(corpus: Corpus) -> Iterator[Figure]:
    """How many times as fast as ripgrep, which is given the segment's directory, and then the file."""
    program = shutil.which("rg")
    if program is None:
        yield Figure("find-plain", "find beside ripgrep", corpus.name, "x", note="not on the PATH: rg")
        return
    with tempfile.TemporaryDirectory(dir=programs.BUILD) as folder:
        path = Path(folder) / corpus.path.name
        os.link(corpus.path, path)
        words = [program, "--no-config", "-a", "-c", "-F", "-j1", "--", NEEDLE.decode()]
        best = least(
            {
                "ours": lambda: ours.find_bytes(path, NEEDLE),
                "directory": lambda: ripgrep([*words, folder]),
                "file": lambda: ripgrep([*words, str(path)]),
            }
        )
    titles = {"directory": "find beside ripgrep", "file": "find beside ripgrep that maps the file"}
    for name, title in titles.items():
        value = best[name] / best["ours"]
        note = f"find {best['ours']:.4f} s, rg {best[name]:.4f} s"
        key = "find-plain" if name == "directory" else "find-plain-mapped"
        yield Figure(key, title, corpus.name, "x", value, corpus.num_bytes, best["ours"], _ROUNDS, note)


def ripgrep(words: list[str]) -> None:
    """Search for what is not there, which ripgrep's status is 1 for."""
    done = subprocess.run(words, capture_output=True, text=True)
    if done.returncode != 1:
        raise ProcessError(programs.first_line(done.stderr) or f"rg ended with {done.returncode}")


def beside_decompression(corpus: Corpus) -> Figure:
    """How many times as fast as reading the file and decompressing it by the fastest library."""
    name, into = codecs.fastest(list(codecs.payloads(corpus.path.read_bytes())))

    def decompress() -> None:
        for pair in codecs.payloads(corpus.path.read_bytes()):
            into(pair)

    best = least({"ours": lambda: ours.find_bytes(corpus.path, NEEDLE), "alone": decompress})
    note = f"find {best['ours']:.4f} s, reading and decompression {best['alone']:.4f} s by {name}"
    title, value = "find beside decompression alone", best["alone"] / best["ours"]
    return Figure(
        f"find-{corpus.name}", title, corpus.name, "x", value, corpus.num_bytes, best["ours"], _ROUNDS, note
    )


def least(works: Mapping[str, Callable[[], object]]) -> dict[str, float]:
    """The least CPU seconds of each, with those of the processes that it starts."""
    best: dict[str, float] = {}
    for _ in range(_ROUNDS):
        for name, work in works.items():
            before = cpu_seconds()
            work()
            seconds = cpu_seconds() - before
            best[name] = min(seconds, best.get(name, seconds))
    return best


def cpu_seconds() -> float:
    """CPU seconds of this process, and of its children that have ended."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime
