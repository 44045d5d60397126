"""The language matrix of docs/languages.md: what a full run has found, and of which schemas and program.

A full run notes each language under `.cache/`; `tools/languages.py` makes `matrix.json` of the notes, from
which `tools/tables.py` makes the table.
"""

from __future__ import annotations

import hashlib
import json
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import yaml
from tests.languages.toolchains import CACHE, HERE, LANGUAGES, ROOT, Language

MATRIX = HERE / "matrix.json"
NOTES = CACHE / "notes"
WORDS = ("doc", "doc-ref", "title", "application", "tags", "license", "xref")
VERSIONS = {
    "javascript": "node --version",
    "java": "javac -version",
    "go": "go version",
    "cpp_stl_98": "g++ -dumpfullversion",
    "cpp_stl_11": "g++ -dumpfullversion",
    "csharp": "mcs --version",
    "ruby": "ruby --version",
    "lua": "lua5.4 -v",
    "rust": "cargo --version",
    "nim": "nim --version",
}


def digest(language: str) -> str:
    """A digest of the schemas, without their words and dashed keys, and of a language's program."""
    found = hashlib.sha256()
    for path in sorted((ROOT / "schemas").glob("*.ksy")):
        found.update(json.dumps([path.stem, _bare(yaml.safe_load(path.read_text("utf-8")))]).encode())
    for path in sorted((HERE / language.removesuffix("_98").removesuffix("_11")).iterdir()):
        if path.suffix != ".pyc":
            found.update(path.relative_to(HERE).as_posix().encode() + path.read_bytes())
    return found.hexdigest()


def _bare(node: Any) -> Any:
    """What a schema says to a compiler."""
    if isinstance(node, dict):
        return {
            str(key): _bare(value)
            for key, value in node.items()
            if str(key) not in WORDS and not (isinstance(key, str) and key.startswith("-"))
        }
    return [_bare(one) for one in node] if isinstance(node, list) else node


def note(language: Language, files: Sequence[Path], lines: Sequence[str]) -> None:
    """Note that a language has printed these lines of these files."""
    done = subprocess.run(VERSIONS[language.name].split(), capture_output=True, text=True)
    kinds = ("entry", "record", "message", "varint")
    counts = {kind: sum(line.startswith(f"{kind} ") for line in lines) for kind in kinds}
    version = (done.stdout or done.stderr).splitlines()[0].strip()
    found = {"digest": digest(language.name), "version": version, "files": len(files), **counts}
    NOTES.mkdir(parents=True, exist_ok=True)
    (NOTES / f"{language.name}.json").write_text(json.dumps(found))


def collect() -> list[str]:
    """Put what was noted into `matrix.json`; return the names of languages without a run of these schemas."""
    found, missing = {}, []
    former = json.loads(MATRIX.read_text(encoding="utf-8"))
    for language in LANGUAGES:
        path, current = NOTES / f"{language.name}.json", digest(language.name)
        noted = json.loads(path.read_text()) if path.is_file() else {}
        ran = {"title": language.title, "runtime": language.source, **noted}
        found[language.name] = ran if noted.get("digest") == current else former[language.name]
        if found[language.name]["digest"] != current:
            missing.append(language.name)
    if not missing:
        MATRIX.write_text(json.dumps(found, indent=1) + "\n")
    return missing
