"""Draw the layouts of the formats from the schemas, into docs/drawings. Run by `make generate`.

Strategy: `drawn_layouts` makes rows and frames of structs of the schema model, `drawn_svg` draws them. What
is here says which structs a drawing has, and what is folded or put inside what: names, types, sizes, places
and words come from the schemas. `--check` writes nothing and names what is stale, missing or an orphan.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "runtime"), str(ROOT / "generated")]

from compiler.frontend.model import Field, Int, Model, SwitchType, UserType  # noqa: E402
from tools.drawn_layouts import FIRM, TIMES, Frame, Layouts, Part, Row, Span, Strip  # noqa: E402
from tools.drawn_lookup import lookup  # noqa: E402
from tools.drawn_svg import draw  # noqa: E402

from codegen import load_schemas  # noqa: E402  the root is no package

DRAWINGS = ROOT / "docs" / "drawings"
SEGMENT, BATCH, MESSAGE = "kafka_log_segment", "kafka_record_batch_v2", "kafka_message_legacy"
RECORD, KEY, VALUE = "kafka_record", "kafka_control_record_key", "kafka_control_record_value"
ENTRY = (SEGMENT, "entry")
IN_FRONT = ("base_offset", "len_body")
"""What all entries begin with."""


def record_batch(model: Model) -> Frame:
    """A batch of magic 2 with the two fields in front."""
    layouts = Layouts(model, "Magic 2: ")
    content = Frame(
        f"records {TIMES} num_records", (Row("record", "see its drawing", 0, None),), repeated=True
    )
    records = Frame("payload", (content,), words=layouts.words(_field(model, (BATCH,), "payload")))
    body = Frame(
        f"body: {BATCH}", (*layouts.parts((BATCH,)), records), spans=layouts.spans((BATCH,), "len_body")
    )
    return Frame("Record batch (magic 2)", (*_in_front(layouts), body))


def record_batch_v3(model: Model) -> Frame:
    """The discarded magic 3, of which three fields vary in size."""
    layouts = Layouts(model, "Magic 2: ")
    stem = "kafka_record_batch_v3"
    records = Frame("payload", (Row("records", "without attributes", 0, None),))
    body = Frame(
        f"body: {stem}", (*layouts.parts((stem,)), records), spans=layouts.spans((stem,), "len_body")
    )
    return Frame("Record batch of the discarded magic 3", (*_in_front(layouts), body))


def record_batch_attributes(model: Model) -> Frame:
    """The bits of a batch's attributes."""
    return replace(
        Layouts(model).bits((BATCH, "batch_attributes")), title="Attributes of a record batch: 16 bits"
    )


def message_attributes(model: Model) -> Frame:
    """The bits of a message's attributes."""
    return replace(Layouts(model).bits((MESSAGE, "attributes")), title="Attributes of a message: 8 bits")


def record(model: Model) -> Frame:
    """A record with its headers."""
    return Frame("Record (magic 2)", Layouts(model).parts((RECORD,)))


def record_header(model: Model) -> Frame:
    """One header."""
    return Frame("Record header", Layouts(model).parts(("kafka_record_header",)))


def control_batch(model: Model) -> Frame:
    """A batch with a transaction marker: what makes it one, and where key and value are read again."""
    layouts = Layouts(model, "Magic 2: ")
    marker = Frame("value: end_txn_marker", layouts.parts((VALUE, "end_txn_marker")))
    key = Frame(f"key: {KEY}", layouts.parts((KEY,)))
    body = Frame(
        "body: len_body bytes",
        layouts.parts(
            (RECORD, "record_body"), shown=("len_key", "len_value"), replaced={"key": key, "value": marker}
        ),
    )
    one = Frame(
        f"records {TIMES} num_records", layouts.parts((RECORD,), replaced={"body": body}), repeated=True
    )
    control = _field(model, (BATCH, "batch_attributes"), "is_control")
    attributes = layouts.row((BATCH,), "attributes", words=f"is_control is 1. {layouts.words(control)}")
    shown = ("producer_id", "producer_epoch", "num_records")
    batch = layouts.parts((BATCH,), shown=shown, replaced={"attributes": attributes})
    content = Frame(f"body: {BATCH}", (*batch, one))
    return Frame("Control batch: a transaction marker", (*_in_front(layouts), content))


def message(model: Model) -> Frame:
    """A message of magic 0 or 1 with the two fields in front."""
    layouts = Layouts(model, "Magic 0 and 1: ")
    header = layouts.parts((MESSAGE, "message_header"))
    rest = layouts.parts((MESSAGE,))[1:]
    spans = layouts.spans((MESSAGE, "message_header"), "len_body")
    body = Frame(f"body: {MESSAGE}", (*header, *rest), spans=spans)
    return Frame("Message (magic 0 and 1)", (*_in_front(layouts), body))


def wrapper(model: Model) -> Frame:
    """A compressed message: the entries inside its value."""
    layouts = Layouts(model, "Magic 0 and 1: ")
    path = (MESSAGE, "message_header")
    codec = layouts.row(path, "attributes", words="compression is not 0.")
    header = layouts.parts(path, shown=("magic", "timestamp"), replaced={"attributes": codec})
    key, _, size, _ = layouts.parts((MESSAGE,))[1:]
    assert isinstance(key, Row)
    inner = Row("message", "see its drawing", 0, None)
    entry = Frame(
        "entry, to the end of the value", (*_in_front(layouts, words=False), inner), repeated=True, apart=True
    )
    value = Frame("value, when it is decompressed", (entry,))
    body = Frame(f"body: {MESSAGE}", (*header, replace(key, words="-1: a wrapper has no key."), size, value))
    return Frame("Wrapper: a compressed message", (*_in_front(layouts), body))


def segment(model: Model) -> Frame:
    """A file of entries, one of them in full."""
    layouts = Layouts(model)
    prefix = layouts.parts((SEGMENT, "entry_prefix"))
    content = _field(model, (SEGMENT, "entry_body"), "content")
    assert isinstance(content.type, SwitchType)
    cases = "; ".join(
        f"{f'magic{FIRM}{value.value}' if isinstance(value, Int) else 'otherwise'}: {kind.path[-1]}"
        for value, kind in content.type.cases
        if isinstance(kind, UserType)
    )
    rest = Row("content", "the rest", 0, None, cases + ".")
    spans = (Span("leader_epoch_or_crc", "len_body counts"),)
    entry = Frame("entry, to the end of the file", (*prefix, rest), repeated=True, apart=True, spans=spans)
    strip = Strip("A file", ("entry", "entry", "entry", "…", "end"))
    ends = (layouts.row(ENTRY, "padding"), layouts.row(ENTRY, "partial"))
    return Frame("Log segment", (strip, entry, Frame("or, at the end of the file", ends)))


def entries_of(stem: str, title: str) -> Callable[[Model], Frame]:
    """A file that repeats one struct."""

    def made(model: Model) -> Frame:
        layouts = Layouts(model)
        return Frame(title, tuple(map(_repeated, layouts.parts((stem,)))), spans=layouts.spans((stem,)))

    return made


def _repeated(part: Part) -> Part:
    if isinstance(part, Frame) and part.repeated and TIMES not in part.title:
        return replace(part, title=f"{part.title}, to the end of the file")
    return part


def _in_front(layouts: Layouts, *, words: bool = True) -> tuple[Row, ...]:
    rows = [layouts.row(ENTRY, name) for name in IN_FRONT]
    return tuple(row if words else replace(row, words="") for row in rows)


def _field(model: Model, path: tuple[str, ...], name: str) -> Field:
    found = model.struct(path).member(name)
    assert isinstance(found, Field)
    return found


DRAWN: dict[str, Callable[[Model], Frame]] = {
    "log_segment": segment,
    "record_batch": record_batch,
    "record_batch_attributes": record_batch_attributes,
    "record": record,
    "record_header": record_header,
    "control_batch": control_batch,
    "message": message,
    "message_attributes": message_attributes,
    "wrapper": wrapper,
    "offset_index": entries_of("kafka_offset_index", "Offset index"),
    "time_index": entries_of("kafka_time_index", "Time index"),
    "transaction_index": entries_of("kafka_transaction_index", "Transaction index"),
    "producer_snapshot": entries_of("kafka_producer_snapshot", "Producer snapshot"),
    "record_batch_v3": record_batch_v3,
    "message_0_7": entries_of("kafka_message_0_7", "Message up to Kafka 0.7"),
}


def main(arguments: list[str], folder: Path = DRAWINGS) -> int:
    """Write the drawings, or with `--check` name those that are not as the schemas have them."""
    model, _ = load_schemas()
    texts = {f"{name}.svg": draw(make(model)) for name, make in DRAWN.items()} | {
        "index_lookup.svg": lookup()
    }
    there = {path.name: path.read_text(encoding="utf-8") for path in folder.glob("*.svg")}
    wrong = sorted(name for name in texts.keys() | there.keys() if texts.get(name) != there.get(name))
    if arguments == ["--check"]:
        if wrong:
            print(
                f"stale, missing or orphans: docs/drawings/ {', '.join(wrong)}; run make generate",
                file=sys.stderr,
            )
        return 1 if wrong else 0
    folder.mkdir(exist_ok=True)
    for name in wrong:
        if name in texts:
            (folder / name).write_text(texts[name], encoding="utf-8")
        else:
            (folder / name).unlink()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
