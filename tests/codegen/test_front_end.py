"""The front end: what it finds, in which order, what dashed keys come to, and that it never falls over."""

from __future__ import annotations

import random
import re
from pathlib import Path

import pytest
from compiler.errors import SchemaError
from compiler.frontend import load
from compiler.frontend.model import (
    Aggregate,
    Attribute,
    Checksum,
    Codec,
    EnumType,
    Field,
    Method,
    Model,
    Name,
    Struct,
    UserType,
    ValueInstance,
)
from tests import work

ROOT = Path(__file__).resolve().parents[2]
SCHEMAS = sorted((ROOT / "schemas").glob("*.ksy"))
FIXTURES = sorted(Path(__file__).parent.glob("fixtures/*.ksy"))


@pytest.fixture(scope="module")
def model() -> Model:
    return load(SCHEMAS)


def test_all_schemas_are_read_with_some_calls_a_character(model: Model) -> None:
    with work.at_most(15 * sum(path.stat().st_size for path in SCHEMAS)):
        again = load(SCHEMAS)
    assert again.schemas == model.schemas


def test_imports_come_first(model: Model) -> None:
    stems = list(model.schemas)
    assert sorted(stems) == [path.stem for path in SCHEMAS]
    for stem, schema in model.schemas.items():
        assert all(stems.index(imported) < stems.index(stem) for imported in schema.imports)


def test_the_order_of_files_does_not_matter_to_what_they_say(model: Model) -> None:
    assert load(SCHEMAS[::-1]).schemas == model.schemas


def test_structs_and_enums_are_found_by_path(model: Model) -> None:
    body = model.struct(("kafka_record", "record_body"))
    assert body.parent == ("kafka_record",)
    assert body.member("key") is body.fields[4]
    assert body.member("nothing") is None
    codecs = model.enum(("kafka_record_batch_v2", "compression"))
    assert [codecs.label(number) for number in range(6)] == ["none", "gzip", "snappy", "lz4", "zstd", None]
    assert codecs.number("lz4") == 3 and codecs.number("lzma") is None
    with pytest.raises(KeyError):
        model.struct(("kafka_record", "body"))


def test_places_are_those_of_the_file(model: Model) -> None:
    for schema in model.schemas.values():
        lines = (ROOT / "schemas" / f"{schema.stem}.ksy").read_text(encoding="utf-8").splitlines()
        for struct in schema.root.walk():
            for member in (*struct.params, *struct.fields, *struct.instances):
                assert member.place.schema == f"schemas/{schema.stem}.ksy"
                assert re.fullmatch(rf"(- id: )?{member.id}:?", lines[member.place.line - 1].strip())


def test_an_import_is_a_given_file_or_beside_or_in_a_folder(tmp_path: Path) -> None:
    user = "meta:\n  id: user\n  imports:\n    - kafka_varint\nseq:\n  - id: x\n    type: kafka_varint\n"
    other = "meta:\n  id: kafka_varint\nseq:\n  - id: other\n    type: u1\n"
    (tmp_path / "user.ksy").write_text(user)
    (tmp_path / "given").mkdir()
    (tmp_path / "given" / "kafka_varint.ksy").write_text(other.replace("other", "given"))
    folders = [ROOT / "schemas"]

    def first_field(model: Model) -> str:
        return model.struct(("kafka_varint",)).fields[0].id

    assert first_field(load([tmp_path / "user.ksy"], folders)) == "groups"
    (tmp_path / "kafka_varint.ksy").write_text(other)
    assert first_field(load([tmp_path / "user.ksy"], folders)) == "other"
    given = [tmp_path / "given" / "kafka_varint.ksy", tmp_path / "user.ksy"]
    assert first_field(load(given, folders)) == "given"
    with pytest.raises(SchemaError, match="two schemas have the same name"):
        load([*given, tmp_path / "kafka_varint.ksy"])


# Dashed keys


def columns(struct: Struct, kind: str) -> dict[str, str]:
    """Names and types of the columns that a struct's members become."""
    members = (getattr(member.extensions, kind) for member in (*struct.fields, *struct.instances))
    return {column.name: column.type for column in members if column is not None}


def test_records_of_all_formats_have_the_same_columns(model: Model) -> None:
    records = columns(model.struct(("kafka_record", "record_body")), "record_column")
    messages = columns(model.struct(("kafka_message_legacy",)), "record_column")
    assert records == {
        "offset": "int64", "timestamp": "timestamp[ms, UTC]", "timestamp_type": "int8", "key": "binary",
        "value": "binary", "headers": "list<struct>", "leader_epoch": "int32", "producer_id": "int64",
        "producer_epoch": "int32", "sequence": "int32",
    }  # fmt: skip
    assert messages.items() <= records.items()
    of_batches = {"leader_epoch", "producer_id", "producer_epoch", "sequence"}
    assert records.keys() - messages.keys() == {"headers", *of_batches}
    header = columns(model.struct(("kafka_record_header",)), "record_column")
    assert header == {"key": "binary", "value": "binary"}


def test_every_header_field_is_a_column(model: Model) -> None:
    for path in (("kafka_record_batch_v2",), ("kafka_message_legacy", "message_header")):
        header = model.struct(path)
        assert {field.id for field in header.fields if field.extensions.batch_column is None} == {
            "attributes"
        }
        attributes = header.member("attributes")
        assert isinstance(attributes, Field) and isinstance(attributes.type, UserType)
        flags = model.struct(attributes.type.path).fields
        assert {flag.id for flag in flags if flag.extensions.batch_column is None} == {"reserved"}
    timestamp = model.struct(("kafka_message_legacy", "message_header")).member("timestamp")
    assert isinstance(timestamp, Field) and timestamp.extensions.batch_column is not None
    assert timestamp.extensions.batch_column.name == "max_timestamp"


def field_of(model: Model, path: tuple[str, ...], name: str) -> Field:
    found = model.struct(path).member(name)
    assert isinstance(found, Field)
    return found


def test_checksums_name_their_regions(model: Model) -> None:
    batch = field_of(model, ("kafka_record_batch_v2",), "crc").extensions.checksum
    assert batch is not None and (batch.algorithm, getattr(batch.region, "id", "")) == (
        "crc32c",
        "crc_region",
    )
    message = field_of(model, ("kafka_message_legacy", "message_header"), "crc").extensions.checksum
    assert isinstance(message, Checksum) and message.algorithm == "crc32"
    assert isinstance(message.region, Attribute) and message.region.id == "crc_region"
    assert isinstance(message.region.object, Name) and message.region.object.kind == "parent"


def test_codecs_say_what_is_inside(model: Model) -> None:
    payload = field_of(model, ("kafka_record_batch_v2",), "payload").extensions.codec
    assert isinstance(payload, Codec) and isinstance(payload.algorithm.type, EnumType)
    assert (payload.content_instance, payload.content_type) == ("records", None)
    value = field_of(model, ("kafka_message_legacy",), "value").extensions.codec
    assert isinstance(value, Codec)
    assert (value.content_instance, value.content_type) == (None, ("kafka_log_segment",))


def test_what_a_codec_names_is_read_too_though_not_imported() -> None:
    alone = load([ROOT / "schemas" / "kafka_message_legacy.ksy"])
    assert "kafka_log_segment" in alone.schemas
    assert "kafka_log_segment" not in alone.schemas["kafka_message_legacy"].imports
    elsewhere = load(FIXTURES, [ROOT / "schemas"])
    assert "kafka_log_segment" not in elsewhere.schemas


def test_derived_values(model: Model) -> None:
    path = ("kafka_record_batch_v2",)
    derived = field_of(model, path, "max_timestamp").extensions.derive
    assert isinstance(derived, Aggregate)
    assert (derived.function, derived.over.id, derived.default) == ("max", "records", -1)
    assert derived.over.kind == "instance"
    assert isinstance(derived.plus, Name) and derived.plus.id == "base_timestamp"
    parts = []
    value = derived.value
    while isinstance(value, Attribute):
        parts.append(value.id)
        value = value.object
    assert parts == ["value", "timestamp_delta", "body"]
    assert isinstance(value, Name) and value.kind == "self" and value.type == UserType(("kafka_record",))
    offset_delta = field_of(model, ("kafka_record", "record_body"), "offset_delta").extensions.derive
    assert isinstance(offset_delta, Name) and offset_delta.kind == "index"
    assert field_of(model, path, "producer_id").extensions.default == -1


def test_arguments_and_parameters(model: Model) -> None:
    records = field_of(model, ("kafka_record_batch_v2",), "records")
    assert isinstance(records.type, UserType)
    names = [param.id for param in model.struct(records.type.path).params]
    given = dict(zip(names, records.type.args, strict=True))
    assert isinstance(given["batch_timestamp_type"], Method) and given["batch_timestamp_type"].id == "to_i"
    assert given["base_offset"] == Name("base_offset", "param", given["base_offset"].type)
    offset = model.struct(("kafka_record", "record_body")).member("offset")
    assert isinstance(offset, ValueInstance)


# Invariant: any text is read, or refused with SchemaError, which names the file and the line.


def mutated(choose: random.Random, text: str, words: list[str]) -> str:
    """A schema with a few lines gone, doubled, cut, or with other words in them."""
    lines = text.split("\n")
    for _ in range(choose.randint(1, 3)):
        at, kind = choose.randrange(len(lines)), choose.randrange(5)
        if kind == 0:
            lines[at] = ""
        elif kind == 1:
            lines.insert(at, choose.choice(lines))
        elif kind == 2:
            lines[at] = lines[at][: choose.randrange(len(lines[at]) + 1)]
        elif kind == 3:
            lines[at] = f"{lines[at].partition(': ')[0]}: {choose.choice(words)}"
        else:
            mark = choose.choice("()[]{}:,'\"-?&*#|>%@ \t0")
            lines[at] = lines[at][: len(lines[at]) // 2] + mark + lines[at][len(lines[at]) // 2 + 1 :]
    return "\n".join(lines)


@pytest.mark.parametrize("schema", [*SCHEMAS, *FIXTURES], ids=lambda path: path.stem)
def test_any_text_is_read_or_refused_with_its_place(schema: Path, tmp_path: Path) -> None:
    choose = random.Random(schema.stem)
    text = schema.read_text(encoding="utf-8")
    words = re.findall(r"[\w.:()+<>=\[\]*-]+", text)
    changed = tmp_path / schema.name
    refused = 0
    for _ in range(60):
        changed.write_text(mutated(choose, text, words), encoding="utf-8")
        try:
            load([changed], [ROOT / "schemas"])
        except SchemaError as error:
            assert error.schema.endswith(".ksy") and error.line is not None, error
            refused += 1
    assert 10 < refused < 60
