"""Machine code is never found again by a process in which anything that it was made from is otherwise.

Machine code of another version writes words to wrong places: these keys are what prevents it.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import CodeType, FunctionType, ModuleType, SimpleNamespace

import pytest
from tests.native import kernels, keyed
from tools.compiled_functions import FACTORIES

from kafka_segments.core.native import engine, keys

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(autouse=True)
def nothing_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    """What other tests have loaded is not in the way."""
    monkeypatch.setattr(engine, "_decoders", {})


def names_in(code: CodeType) -> set[str]:
    inner = (constant for constant in code.co_consts if isinstance(constant, CodeType))
    return set(code.co_names).union(*map(names_in, inner))


def frozen(function: FunctionType, seen: set[FunctionType]) -> Iterator[tuple[str, str, int]]:
    """Module, name and value of each number that a function or one that it calls takes from outside."""
    if function in seen:
        return
    seen.add(function)
    for name in sorted(names_in(function.__code__)):
        value = function.__globals__.get(name)
        if isinstance(value, FunctionType):
            yield from frozen(value, seen)
        elif isinstance(value, int):
            yield function.__module__, name, value


@pytest.mark.parametrize("factory", FACTORIES, ids=lambda each: f"{each.__module__}.{each.__name__}")
def test_every_constant_of_every_kernel_is_in_its_key(factory, monkeypatch):
    before = keyed.key_of(factory)
    assert keyed.key_of(factory) == before
    constants = list(dict.fromkeys(frozen(factory, set())))
    assert len(constants) >= 5
    for module, name, value in constants:
        with monkeypatch.context() as patch:
            patch.setattr(sys.modules[module], name, value + 1)
            assert keyed.key_of(factory) != before, f"{module}.{name} is not in the key"
    assert keyed.key_of(factory) == before


CALL = re.compile(r"(?:load_decoder|Compiled)\(\s*((?:\w+\([^()]*\))?[\w.]+)")


def test_no_kernel_is_left_out():
    """All machine code is of factories in `tools.compiled_functions`."""
    known = {factory.__name__ for factory in FACTORIES} | {"factory"}
    called = {
        match[1].rpartition(".")[2]
        for folder in ("runtime", "generated")
        for path in (ROOT / folder).rglob("*.py")
        for match in CALL.finditer(path.read_text(encoding="utf-8"))
    }
    assert called <= known and len(called) >= 10


EDITS = {
    "the places in a codec's state": (
        "kafka_segments/core/segment/columnar/codec_loops.py",
        "CODEC, ENOUGH, USED, NEXT, FIRST = range(5)",
        "CODEC, USED, ENOUGH, NEXT, FIRST = range(5)",
        {"codec_loops.expander", "fused_expansion.expansion_loop"},
    ),
    "a limit in another module": (
        "kafka_segments/write/batch_options.py",
        "MAX_INT = ",
        "MAX_INT = -1 + ",
        {"encoder_loops.batcher", "encoder_loops.messenger"},
    ),
    "the bytes that are worked on together": (
        "kafka_segments/core/native/kernels.py",
        "LEN_PIECE = 128 << 10",
        "LEN_PIECE = 64 << 10",
        None,
    ),
    "an intrinsic": (
        "kafka_segments/core/native/intrinsics.py",
        "_STEP = 16, 64, 256",
        "_STEP = 16, 64, 128",
        None,
    ),
    "the compiler's options": (
        "kafka_segments/core/native/compiling.py",
        '"_nrt": False',
        '"_nrt": True',
        None,
    ),
    "the version": ("kafka_segments/__init__.py", "__version__ = ", '__version__ = "9" + ', None),
    "a helper of generated decoders": (
        "kafka_segments_generated/columns/kafka_varint.py",
        ".support import ",
        ".support import Bytes as Unused, ",
        set(),
    ),
}
"""Edits, and whose keys change: all if None. One that changes no code changes no key."""


def printed(root: Path) -> dict[str, str]:
    """The keys that a process prints whose packages lie in a folder."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.native.keyed"],
        env={
            **os.environ,
            "PYTHONPATH": os.pathsep.join(map(str, (root, ROOT))),
            "PYTHONDONTWRITEBYTECODE": "1",  # edits within a second would not be seen
        },
        cwd=root,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return dict(line.split() for line in done.stdout.splitlines())


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of both packages."""
    root = tmp_path_factory.mktemp("copied")
    unwanted = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / "runtime" / "kafka_segments", root / "kafka_segments", ignore=unwanted)
    generated = "kafka_segments_generated"
    shutil.copytree(ROOT / "generated" / generated, root / generated, ignore=unwanted)
    return root


@pytest.fixture(scope="module")
def unedited(package: Path) -> dict[str, str]:
    found = printed(package)
    assert printed(package) == found
    return found


@pytest.mark.parametrize("edit", EDITS.values(), ids=list(EDITS))
def test_another_version_has_other_keys(package, unedited, edit):
    name, old, new, changed = edit
    path = package / name
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new, 1), encoding="utf-8")
    try:
        edited = printed(package)
    finally:
        path.write_text(text, encoding="utf-8")
    assert edited.keys() == unedited.keys()
    others = {name for name, key in edited.items() if key != unedited[name]}
    if changed is None:
        assert others == set(edited)
    else:
        assert {".".join(name.split(".")[-2:]) for name in others} == changed


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("NUMBA_OPT", "0"),
        ("NUMBA_CPU_NAME", "generic"),
        ("NUMBA_CPU_FEATURES", "+sse2"),
        ("NUMBA_ENABLE_AVX", "0"),
        ("NUMBA_BOUNDSCHECK", "1"),
        ("KAFKA_SEGMENTS_CHECK_BOUNDS", "1"),
    ],
)
def test_settings_that_change_machine_code_are_in_the_key(monkeypatch, name, value):
    factory = FACTORIES[0]
    monkeypatch.delenv(name, raising=False)
    before = keyed.key_of(factory)
    monkeypatch.setenv(name, value)
    assert keyed.key_of(factory) != before


def test_settings_that_change_nothing_are_not_in_the_key(monkeypatch):
    before = keyed.key_of(FACTORIES[0])
    monkeypatch.setenv("NUMBA_NUM_THREADS", "1")
    monkeypatch.setenv("NUMBA_CACHE_DIR", "elsewhere")
    assert keyed.key_of(FACTORIES[0]) == before


LIMITS = (0, 1, 2)
PLACES = SimpleNamespace(first=0)
MODULE = ModuleType("layout")
MODULE.PLACE = 1


def of_all_kinds():
    def run():
        return LIMITS, MODULE.PLACE

    return run


def of_an_unknown_kind():
    def run():
        return PLACES

    return run


def test_values_of_all_kinds_count(monkeypatch):
    seen = {keys.digest(of_all_kinds, {})}
    for target, name, value in ((sys.modules[__name__], "LIMITS", (0, 1, 3)), (MODULE, "PLACE", 2)):
        with monkeypatch.context() as patch:
            patch.setattr(target, name, value)
            seen.add(keys.digest(of_all_kinds, {}))
    assert len(seen) == 3


def test_a_value_of_an_unknown_kind_is_refused():
    with pytest.raises(NotImplementedError, match="PLACES"):
        keys.digest(of_an_unknown_kind, {})


def test_machine_code_of_two_versions_is_not_kept(monkeypatch, tmp_path):
    """The compiler was replaced on the disk after this process had begun, and before it was imported."""
    monkeypatch.setenv("KAFKA_SEGMENTS_CACHE_DIR", str(tmp_path))
    with monkeypatch.context() as patch:
        patch.setattr(keys, "_texts", lambda: "of another version")
        assert engine.load_decoder(kernels.bits, unused=False).parameters == ("bitmap", "numbers")
    assert list(tmp_path.glob("*.o")) == []
    engine._decoders.clear()
    engine.load_decoder(kernels.bits, unused=False)
    assert len(list(tmp_path.glob("*.o"))) == 1
