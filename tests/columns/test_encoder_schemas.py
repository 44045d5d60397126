"""A schema that does not say all that is to be written still gets a decoder, and says what is missing."""

from __future__ import annotations

from pathlib import Path

import pytest
from compiler.frontend import load
from compiler.targets import columns
from tests.fixtures.package import PROJECT, SCHEMAS

# Of a fixture schema: a text in it, what to put there instead; the module without an encoder, and why.
CASES = {
    "a difference without what it is made of": (
        "compact_record",
        "        -encode: offset - _parent.base_offset\n",
        "",
        "compact_record",
        "compact_record.ksy /types/record_body/seq/2: columns: nothing says what to write",
    ),
    "a length without what says null": (
        "compact_record",
        "        -orig-id: keyLength\n        -null: -1\n",
        "        -orig-id: keyLength\n",
        "compact_record",
        "compact_record.ksy /types/record_body/seq/3: columns: a length of bytes that may be null",
    ),
    "a null that is a length": (
        "compact_record",
        "        -orig-id: keyLength\n        -null: -1\n",
        "        -orig-id: keyLength\n        -null: 0\n",
        "compact_record",
        "compact_record.ksy /types/record_body/seq/3: columns: a length of bytes that may be null",
    ),
    "a key that no column has": (
        "compact_record",
        "        -orig-id: key\n        -record-column: binary\n",
        "        -orig-id: key\n",
        "compact_record",
        "compact_record.ksy /types/record_body/seq/4: columns: it needs a record column to be written from",
    ),
    "a number that no column has": (
        "odd_log_segment",
        "        -record-column: int32\n        type: u2be\n",
        "        type: u2be\n",
        "odd_log_segment",
        "odd_log_segment.ksy /types/record/seq/0: columns: nothing says what to write",
    ),
    "what is derived, and cannot be given": (
        "compact_record_batch",
        "    -encode: max_timestamp - base_timestamp.value\n",
        "",
        "compact_log_segment",
        "compact_record_batch.ksy /seq/10: columns: what is derived needs a column or -encode too",
    ),
    "a kind that two contents share": (
        "odd_log_segment",
        "        -batch-column:\n          name: entry_kind\n          type: int16\n",
        "",
        "odd_log_segment",
        "odd_log_segment.ksy /types/entry/seq/0: columns: it needs a column: more than one value leads",
    ),
    "a header's field that the table has not": (
        "compact_record_batch",
        "    -orig-id: producerId\n    -default: -1\n    -batch-column: int64\n",
        "    -orig-id: producerId\n",
        "compact_log_segment",
        "compact_record_batch.ksy /seq/4: columns: nothing says what to write",
    ),
}


def generated(tmp_path: Path, stem: str, old: str, new: str) -> dict[str, str]:
    """The target's files, of schemas one of which has been changed."""
    paths = []
    for path in SCHEMAS:
        text = path.read_text(encoding="utf-8")
        if path.stem == stem:
            assert text.count(old) == 1
            text = text.replace(old, new)
        paths.append(tmp_path / path.name)
        paths[-1].write_text(text, encoding="utf-8")
    return columns.generate([], load(paths, [PROJECT]))


@pytest.mark.parametrize("case", CASES)
def test_what_is_missing(case: str, tmp_path: Path) -> None:
    stem, old, new, module, reason = CASES[case]
    text = generated(tmp_path, stem, old, new)[f"{module}.py"]
    (line,) = [line for line in text.splitlines() if line.startswith("# Not encoded: ")]
    assert line.startswith(f"# Not encoded: {reason}")
    before = generated(tmp_path, stem, old, old)[f"{module}.py"]
    for function in ("def decoder(", "def scanner("):
        assert (function in text) == (function in before)
    encoders = [part.count("def encode") for part in (text, before)]
    assert encoders[0] < encoders[1]


def test_everything_else_is_encoded() -> None:
    """All that has a decoder or a scanner has an encoder: in the project, and of the invented formats."""
    for model in (load(sorted(PROJECT.glob("*.ksy"))), load(SCHEMAS, [PROJECT])):
        for name, text in columns.generate([], model).items():
            assert "# Not encoded" not in text
            assert ("def decoder(" in text) == ("def encoder(" in text), name
            assert ("def scanner(" in text) == ("def head_encoder(" in text), name
