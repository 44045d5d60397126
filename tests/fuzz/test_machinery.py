"""The fuzzing finds what is there to be found: faults that are planted; and says which input it was."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest
from tests.fuzz import inputs, kernels, plain, seeds, storm
from tests.fuzz.anatomy import Field
from tests.fuzz.campaign import ROOT
from tests.fuzz.reached import Lines
from tests.fuzz.run import NUMBER
from tests.made.edits import varint
from tests.python import run_python

from kafka_segments.core.io.storage import open_source
from kafka_segments.core.segment.scan.resync import Resync

# A reader with a fault that shows at two inputs, under a name of the plan; then the job.
PLANTED = """
import ctypes, itertools, sys, time
from tests import work
from tests.fuzz import checks, guard, run, targets
run.MOST_SECONDS, run.WARM_UP, run.SLOWEST = {limit}, 10, 0.1
number = itertools.count()
def faulty(dice, data):
    if next(number) not in (20, 21):  # what is slow is asked twice
        return "sound"
    {fault}
    return "sound"
targets.READERS["events"] = faulty
sys.exit(run.main(["events", "--count", "40", "--progress", sys.argv[1]]))
"""
FAULTS = {
    "another error": ("raise KeyError('planted')", 1, "planted"),
    "a false assertion": ("assert not data, 'planted'", 1, "planted"),
    "a hang": ("time.sleep(999)", 1, "Timeout"),
    "a slow one": (
        "end = time.process_time() + work.slowness()\n    while time.process_time() < end: pass",
        1,
        "took",
    ),
    "too much memory": ("bytearray(8 << 30)", 1, "MemoryError"),
    "a read beyond the end": (
        "guard.GUARD.place(b'abc')\n    ctypes.string_at(guard.GUARD._array.ctypes.data, 1 + (1 << 17))",
        -signal.SIGSEGV,
        "Segmentation fault",
    ),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_planted_fault_is_found(fault: str, tmp_path: Path) -> None:
    code, status, word = FAULTS[fault]
    progress = tmp_path / "progress"
    progress.write_bytes(bytes(4096))
    planted = PLANTED.format(fault=code, limit=5 if fault == "a hang" else 200)
    done = run_python("-c", planted, progress, status=status, cwd=ROOT)
    assert word in done.stderr
    number = NUMBER.unpack(progress.read_bytes()[: NUMBER.size])[1]
    assert number == (39 if fault == "a slow one" else 20)


def test_plain_and_compiled_kernels_go_through_the_same() -> None:
    compiled, uncompiled = kernels.Storm(3), kernels.Storm(3, load=plain.load_plain)
    for storms in (compiled, uncompiled):
        storms.run(0, 400)
    plain.raise_pending()
    assert compiled.counts() == uncompiled.counts()
    for word in (storm.DIGEST, storm.NUM_RECORDS, storm.NUM_SEALED, storm.LEN_INPUT):
        assert compiled.state[word] == uncompiled.state[word]
    assert compiled.last_input == uncompiled.last_input
    assert compiled.state[storm.NUM_RECORDS] > 50


def test_an_input_depends_on_its_number_alone() -> None:
    one, other = kernels.Storm(3), kernels.Storm(3)
    one.run(0, 50)
    other.run(49, 50)
    assert one.last_input == other.last_input
    numbers = [inputs.segment(inputs.dice_of(3, number)) for number in (7, 8, 7)]
    assert numbers[0] == numbers[2] != numbers[1]


def test_plain_kernels_notice_a_place_outside() -> None:
    import numpy as np

    blocks = plain.checked_blocks()
    data = np.zeros(4, np.uint8)
    assert blocks["load_u4be"](data, 0) == 0
    for wrong in (lambda: blocks["load_u4be"](data, 1), lambda: blocks["load_u1"](data, -1)):
        with pytest.raises(plain.OutsideError):
            wrong()
    with pytest.raises(plain.OutsideError):
        blocks["copy_bytes"](data, 2, data, 0, 3)


def test_sealed_entries_are_true_ones() -> None:
    counts = {True: 0, False: 0}
    for number in range(400):
        dice = inputs.dice_of(9, number)
        anatomy = seeds.entries()[dice.randrange(len(seeds.entries()))]
        data, is_sealed = inputs.sealed(dice, anatomy, anatomy.data + dice.randbytes(dice.randrange(3)))
        assert not is_sealed or Resync(open_source(data)).true_entry(0) is not None
        counts[is_sealed] += 1
    assert counts[True] > 300


def test_fields_are_where_the_format_has_them() -> None:
    """As the encoder of the properties writes them, which knows the format by itself."""
    anatomy = next(each for each in seeds.entries() if each.content == 1 and each.codec == 0)
    assert (anatomy.len_at, anatomy.crc_at, anatomy.crc_start, anatomy.codec_at) == (8, 17, 21, 22)
    assert {Field(0, 8), Field(16, 1), Field(57, 4)} <= set(anatomy.fields)
    assert varint(-1) == b"\1" and varint(64) == b"\x80\1"
    assert any(field.is_varint and field.at >= 61 for each in seeds.entries() for field in each.fields)


def test_lines_are_counted(tmp_path: Path) -> None:
    file = tmp_path / "module.py"
    file.write_text("def double(number):\n    if number:\n        return 2 * number\n    return 0\n")
    lines = Lines([file])
    names: dict = {}
    exec(compile(file.read_text(), str(file), "exec"), names)
    lines.start()
    names["double"](4)
    lines.stop()
    assert (lines.num_seen, lines.num_all) == (2, 3)
    assert lines.missed() == {str(file): [4]}
    lines.start()
    names["double"](0)
    lines.stop()
    assert lines.missed() == {}
