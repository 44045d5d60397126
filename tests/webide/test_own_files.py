"""A user's files, exported and opened in the IDE: hostile, damaged, cut off, padded, large."""

from __future__ import annotations

import random
import shutil
from pathlib import Path

import pytest
from tests.webide.web_ide import ROOT, WebIde, opened

import kafka_segments
from kafka_segments.cli.main import main

pytestmark = [pytest.mark.browser, pytest.mark.long(short=False)]

FIRST = f"{0:020}.log"
RECORDED = ROOT / "tests/vectors/recorded/kafka-4.3/clean/transactions-0" / FIRST
HOSTILE = "<img src=x onerror='window.hostile=1'>"


def exported(ide: WebIde, into: Path, topic: str, content: bytes) -> str:
    """Export a segment, upload what came of it, and give its name in the IDE."""
    folder = into / "logs" / f"{topic}-0"
    folder.mkdir(parents=True)
    (folder / FIRST).write_bytes(content)
    assert main(["schemas", "export", "--webide", str(into / "made"), str(folder / FIRST)]) in (0, 1)
    bundle = {path.name for path in (ROOT / "generated" / "webide").iterdir()}
    files = [path for path in (into / "made").iterdir() if path.name not in bundle]
    ide.upload(files)
    return min((path.name for path in files if path.name.endswith(".log")), key=len)


def test_hostile_names_keys_and_headers_are_text(ide: WebIde, tmp_path: Path) -> None:
    text = HOSTILE.encode()
    row = {"key": text, "value": text * 3, "headers": [(text, text)]}
    content = kafka_segments.encode_records([row])
    name = exported(ide, tmp_path, "a<svg onload=alert(1)>", content)
    assert name == f"a_svg_onload_alert_1__-0-{FIRST}"
    opened(ide, name)
    record = ("entries", 0, "body", "content", "records", 0)
    ide.expand(*record, "body", "headers")
    assert ide.line(*record).startswith(f'0 [KafkaRecord]: offset 0, key "{HOSTILE}", value "{HOSTILE}')
    assert ide.line(*record, "body", "headers", 0) == f'0 [KafkaRecordHeader]: "{HOSTILE}" = "{HOSTILE}"'
    ide.expand(*record, "body", "key")
    assert ide.line(*record, "body", "key", "text") == f"text = {HOSTILE}"
    assert ide.page.evaluate("() => window.hostile === undefined && !document.querySelector('img[src=x]')")


def test_a_segment_that_is_cut_off(ide: WebIde, tmp_path: Path) -> None:
    content = RECORDED.read_bytes()
    name = exported(ide, tmp_path, "cut", content[:500])
    opened(ide, name)
    ide.expand("entries")
    assert (
        ide.line("entries", 1)
        == "1 [Entry]: offset 3, CUT OFF or DAMAGED: a size of 154, and 28 bytes are left"
    )
    name = exported(ide, tmp_path / "2", "cut", content[:465])
    opened(ide, name)
    assert ide.line("entries", 1) == "1 [Entry]: CUT OFF: 5 bytes are left, too few for an offset and a size"


def test_a_damaged_length(ide: WebIde, tmp_path: Path) -> None:
    content = RECORDED.read_bytes()
    small = content[:468] + (5).to_bytes(4, "big") + content[472:]
    opened(ide, exported(ide, tmp_path, "short", small))
    ide.expand("entries")
    assert ide.line("entries", 1) == (
        "1 [Entry]: offset 3, DAMAGED: no entry has a size of 5, and 286 bytes are left"
    )


def test_padding(ide: WebIde, tmp_path: Path) -> None:
    opened(ide, exported(ide, tmp_path, "padded", RECORDED.read_bytes() + bytes(1000)))
    ide.expand("entries")
    assert ide.line("entries", 3) == "3 [Entry]: padding: 988 bytes up to the end of the file"


def test_a_large_segment_is_cut_and_opens(ide: WebIde, tmp_path: Path) -> None:
    values = random.Random(1)
    rows = [{"key": b"%d" % number, "value": values.randbytes(100)} for number in range(30_000)]
    content = kafka_segments.encode_records(rows)
    assert len(content) > 3 << 20
    name = exported(ide, tmp_path, "large", content)
    cut = (tmp_path / "made" / name).read_bytes()
    assert len(content) > 1 << 20 >= len(cut) > 1 << 19 and content.startswith(cut)
    opened(ide, name)
    ide.expand("entries")
    with kafka_segments.open_segment(cut) as segment:
        batches = [entry for entry in segment.iter_entries() if isinstance(entry, kafka_segments.Batch)]
    last = batches[-1]
    line = f"{len(batches) - 1} [Entry]: offset {last.base_offset}, {last.num_records} records"
    assert ide.line("entries", len(batches) - 1) == line


def test_a_file_that_is_dropped_onto_the_page(ide: WebIde) -> None:
    drop = """([name, bytes]) => {
      const data = new DataTransfer();
      data.items.add(new File([new Uint8Array(bytes)], name));
      document.body.dispatchEvent(new DragEvent('drop', {dataTransfer: data, bubbles: true}));
    }"""
    ide.page.evaluate(drop, ["dropped.log", list(RECORDED.read_bytes())])
    ide.file("dropped.log").wait_for(state="attached")
    opened(ide, "dropped.log")
    ide.expand("entries")
    assert ide.line("entries", 0) == "0 [Entry]: offset 0, 3 records, transactional"


def test_wrappers_of_the_old_format_as_plain_copies(ide: WebIde, tmp_path: Path) -> None:
    source = ROOT / "tests/vectors/recorded/kafka-2.8/clean/mixed-0" / FIRST
    name = exported(ide, tmp_path, "old", source.read_bytes())
    opened(ide, name.replace(".log", "-plain.log"))
    ide.expand("entries")
    assert ide.line("entries", 7).startswith('7 [Entry]: offset 7, magic 0, key "')
    shutil.rmtree(tmp_path)
