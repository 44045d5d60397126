"""Who takes part: every decoder and encoder by name, what it is, which program runs it, and over which part
of a corpus."""

from __future__ import annotations

import dataclasses
import importlib.util
import sys
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from types import MappingProxyType

from tests.bench import programs
from tests.bench.corpora import CODECS, ENCODED, MIB, Corpus

PLAIN = ("json170", "kib", "small", "headers")
# What builds the program of those that are not Python, or says why it cannot be had.
PROGRAMS: Mapping[str, Callable[[], programs.Program | programs.Missing]] = MappingProxyType(
    {
        "java": programs.java,
        "go": programs.go,
        **{crate: partial(programs.rust, crate) for crate in ("kafka-protocol", "krabka-protocol")},
    }
)


@dataclasses.dataclass(frozen=True)
class Decoder:
    """One way to read a segment, or to write it again.

    Attributes:
        name: as goals and `bench.json` call it.
        title: for people.
        kind: "ours", "peer" or "limit" (reads nothing: what no decoder can beat).
        program: "python", or one of `PROGRAMS`.
        words: what its program is told before the path.
        corpora: those it reads; None is all that are there to be read.
        slice_bytes: how much of a corpus it reads, because it is slow; 0 is all.
        compared: the one of ours that its figure is compared with.
        module: a Python module that it needs.
        main: the Java class.
    """

    name: str
    title: str
    kind: str
    program: str
    words: tuple[str, ...] = ()
    corpora: tuple[str, ...] | None = None
    slice_bytes: int = 0
    compared: str = "columns"
    module: str = ""
    main: str = "Peer"

    def reads(self, corpus: Corpus) -> bool:
        """Whether it takes part in a corpus."""
        return corpus.name not in ENCODED if self.corpora is None else corpus.name in self.corpora


_ALL = (
    Decoder("columns", "ours, columns", "ours", "python"),
    Decoder("views", "ours, views", "ours", "python", compared="views"),
    Decoder(
        "java-views", "Java MemoryRecords, views, warm", "peer", "java", ("views", "true"), compared="views"
    ),
    Decoder("java-copied", "Java MemoryRecords, bytes copied out", "peer", "java", ("copied", "true")),
    Decoder("java-file", "Java FileRecords", "peer", "java", ("file", "true"), compared="columns-file"),
    Decoder("rust", "Rust kafka-protocol", "peer", "kafka-protocol", ("decode",)),
    Decoder("krabka", "Rust krabka-protocol, borrowed", "peer", "krabka-protocol", compared="views"),
    Decoder("franz-go", "Go franz-go", "peer", "go"),
    Decoder(
        "librdkafka",
        "librdkafka's consumer, with broker and network",
        "peer",
        "python",
        slice_bytes=4 * MIB,
        module="confluent_kafka",
    ),
    Decoder("aiokafka", "aiokafka (Cython)", "peer", "python", slice_bytes=32 * MIB, module="aiokafka"),
    Decoder("kafka-python", "kafka-python", "peer", "python", slice_bytes=4 * MIB, module="kafka"),
    Decoder("columns-file", "ours, columns, from the file", "ours", "python"),
    Decoder("views-file", "ours, views, from the file", "ours", "python", compared="views"),
    Decoder("columns-no-crc", "ours, columns, CRC off", "ours", "python", corpora=PLAIN),
    Decoder(
        "java-views-no-crc",
        "Java MemoryRecords, views, CRC off",
        "peer",
        "java",
        ("views", "false"),
        corpora=PLAIN,
        compared="columns-no-crc",
    ),
    Decoder(
        "kaitai",
        "ours, Kaitai classes",
        "ours",
        "python",
        corpora=("json170",),
        slice_bytes=MIB,
        module="kafka_segments_generated.kaitai",
    ),
    Decoder(
        "construct",
        "ours, Construct codecs",
        "ours",
        "python",
        corpora=("json170",),
        slice_bytes=MIB,
        module="kafka_segments_generated.construct",
    ),
    Decoder("memcpy", "limit: memcpy into reused memory", "limit", "python", corpora=(*PLAIN, *ENCODED)),
    Decoder("decompress", "limit: decompression alone", "limit", "python", corpora=CODECS),
)


def _encoder(
    name: str, title: str, program: str, *words: str, slice_bytes: int = 0, module: str = ""
) -> Decoder:
    """A peer that writes."""
    return Decoder(
        name,
        title,
        "peer",
        program,
        words,
        corpora=tuple(ENCODED),
        slice_bytes=slice_bytes,
        compared="encoder",
        module=module,
        main="Builder",
    )


_ENCODERS = (
    Decoder("encoder", "ours, from Arrow", "ours", "python", corpora=tuple(ENCODED), compared="encoder"),
    _encoder("java-builder", "Java MemoryRecordsBuilder, warm", "java"),
    _encoder("rust-encoder", "Rust kafka-protocol, encoder", "kafka-protocol", "encode"),
    _encoder(
        "aiokafka-builder", "aiokafka's builder (Cython)", "python", slice_bytes=32 * MIB, module="aiokafka"
    ),
    _encoder("kafka-python-builder", "kafka-python's builder", "python", slice_bytes=4 * MIB, module="kafka"),
)
DECODERS: Mapping[str, Decoder] = MappingProxyType({one.name: one for one in (*_ALL, *_ENCODERS)})


def command(decoder: Decoder, path: Path) -> list[str] | programs.Missing:
    """The command that serves passes of a decoder over a file, or why there is none here."""
    if decoder.program == "python":
        if decoder.module and not is_there(decoder.module):
            return programs.Missing(f"not installed: {decoder.module}")
        words = [decoder.name, str(path), str(decoder.slice_bytes)]
        return [sys.executable, "-m", "tests.bench.worker", *words]
    program = PROGRAMS[decoder.program]()
    if isinstance(program, programs.Missing):
        return program
    main = [decoder.main] if decoder.program == "java" else []
    return [*program.command, *main, "serve", *decoder.words, str(path)]


def is_there(module: str) -> bool:
    """Whether a Python module can be found."""
    try:
        return importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:
        return False
