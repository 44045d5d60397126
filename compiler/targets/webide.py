"""Target ``webide``: files for the Kaitai Web IDE to look into log segments, and instructions.

The schemas go there under their own names, since they import one another by name; only their order
matters, an import before those that import it. Some have an overlay (`schemas/webide`), which changes how
they read there: words instead of numbers, text instead of bytes, no parameters. The samples are pieces of
recorded files, those of segments cut where entries begin and end (a test holds the cuts against the
recordings), and so small that the IDE, which makes an object of everything, stays quick.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from compiler.errors import SchemaError
from compiler.frontend.model import Model
from compiler.targets.overlays import merged
from compiler.targets.webide_readme import readme

__all__ = ["MAX_LEN_SAMPLE", "SAMPLES", "VECTORS", "Piece", "Sample", "generate"]

COMMAND = 'run "python codegen.py"'
MAIN = "kafka_log_segment"
VECTORS = "tests/vectors"
MAX_LEN_SAMPLE = 64 << 10


@dataclass(frozen=True)
class Piece:
    """Bytes of a file below `VECTORS`, from `start` to `end`, to its end if there is none.

    Attributes:
        edits: bytes that are written over those of the piece: pairs of a position in the piece, and bytes.
    """

    file: str
    start: int = 0
    end: int | None = None
    edits: tuple[tuple[int, bytes], ...] = ()


@dataclass(frozen=True)
class Sample:
    """A file to open in the IDE.

    Attributes:
        name: of the file.
        shows: what there is to see in it.
        schema: the one to open it with.
        pieces: what it is made of.
        num_zeros: that come after the pieces.
        is_sound: whether it has sound entries alone, of which each piece has whole ones.
    """

    name: str
    shows: str
    pieces: tuple[Piece, ...]
    schema: str = MAIN
    num_zeros: int = 0
    is_sound: bool = True


_CLEAN = "recorded/kafka-4.3/clean"
_COMMITTED = f"{_CLEAN}/transactions-0/00000000000000000000.log"
_TRANSACTIONS = f"{_CLEAN}/transactions-0/00000000000000000007"

SAMPLES = (
    Sample(
        "plain.log",
        "magic 2, not compressed: headers, nulls, a transaction and its markers, KRaft's control records",
        (
            Piece(f"{_CLEAN}/shapes-0/00000000000000000000.log", 0, 18284),
            Piece(_COMMITTED, 0, 460),
            Piece(f"{_TRANSACTIONS}.log", 0, 156),
            Piece("recorded/kafka-4.3/dynamic-quorum/__cluster_metadata-0/00000000000000000000.log"),
        ),
    ),
    Sample(
        "compressed.log",
        "magic 2: a batch uncompressed, and one each by gzip, snappy, lz4 and zstd; the broker's timestamps",
        (Piece(f"{_CLEAN}/append-time-0/00000000000000000000.log"),),
    ),
    Sample(
        "compressed-plain.log",
        "the same without compression, as `kafka-segments schemas export --webide` adds it",
        (Piece("webide/compressed-plain.log"),),
    ),
    Sample(
        "legacy.log",
        "magics 0, 1 and 2 in one segment, single messages and compressed wrappers",
        (Piece("recorded/kafka-2.8/clean/mixed-0/00000000000000000000.log"),),
    ),
    Sample(
        "damaged.log",
        "between sound entries one of an unknown magic and one with a damaged record; the last is cut off",
        (
            Piece(_COMMITTED, 0, 460),
            Piece(_COMMITTED, 460, 626, edits=((16, b"\x09"),)),  # the magic
            Piece(_COMMITTED, 626, 758),
            Piece(_COMMITTED, 0, 460, edits=((61, b"\x01"),)),  # the length of the first record
            Piece(_COMMITTED, 626, 758),
            Piece(_COMMITTED, 0, 300),
        ),
        is_sound=False,
    ),
    Sample(
        "padded.log",
        "zeros at the end, as with `preallocate=true`",
        (Piece(f"{_TRANSACTIONS}.log", 0, 156),),
        num_zeros=4096,
        is_sound=False,
    ),
    Sample("sample.index", "an offset index", (Piece(f"{_TRANSACTIONS}.index"),), "kafka_offset_index"),
    Sample("sample.timeindex", "a time index", (Piece(f"{_TRANSACTIONS}.timeindex"),), "kafka_time_index"),
    Sample(
        "sample.txnindex",
        "an index of aborted transactions",
        (Piece(f"{_TRANSACTIONS}.txnindex"),),
        "kafka_transaction_index",
    ),
    Sample(
        "sample.snapshot",
        "a snapshot of a partition's producers",
        (Piece(f"{_TRANSACTIONS}.snapshot"),),
        "kafka_producer_snapshot",
    ),
    Sample(
        "leader-epoch-checkpoint",
        "the leader epochs of a partition",
        (Piece(f"{_CLEAN}/transactions-0/leader-epoch-checkpoint"),),
        "kafka_leader_epoch_checkpoint",
    ),
    Sample(
        "partition.metadata",
        "the topic's id",
        (Piece(f"{_CLEAN}/transactions-0/partition.metadata"),),
        "kafka_partition_metadata",
    ),
    Sample(
        "recovery-point-offset-checkpoint",
        "offsets up to which a broker has flushed its logs",
        (Piece(f"{_CLEAN}/recovery-point-offset-checkpoint"),),
        "kafka_offset_checkpoint",
    ),
    Sample(
        "kafka-0.7-message.bin",
        "a compressed message of Kafka 0.7",
        (Piece("kafka_message_0_7/magic_1_gzip.bin"),),
        "kafka_message_0_7",
    ),
    Sample(
        "aiven-chunk-sizes.bin",
        "sizes of chunks in a manifest of Aiven's tiered storage",
        (Piece("aiven_chunk_sizes/three_chunks.bin"),),
        "aiven_chunk_sizes",
    ),
    Sample(
        "redpanda-batch-header.bin",
        "the header of a batch of Redpanda's",
        (Piece("redpanda_batch_header/worked_example.bin"),),
        "redpanda_batch_header",
    ),
)


def generate(schemas: list[Path], model: Model) -> dict[str, bytes]:
    """The bundle.

    Args:
        schemas: paths of ``.ksy`` files; overlays are in the folder `webide` beside them, the recorded files
            in the project that their folder is in.
        model: what the front end makes of them, imports first.

    Returns:
        File names to contents.

    Raises:
        SchemaError: a sample is too large, what it is cut from is missing, or an overlay fits no schema.
    """
    paths = {path.stem: path for path in schemas}
    folder = paths[MAIN].resolve().parent
    overlays = {path.stem: path for path in (folder / "webide").glob("*.yaml")}
    if unknown := overlays.keys() - paths.keys():
        raise SchemaError("an overlay without a schema", schema=f"webide/{min(unknown)}.yaml")
    uploads = {f"{path.stem}.ksy": _origin(path) + path.read_bytes() for path in _own_schemas(folder)}
    for stem in model.schemas:
        overlay = overlays.get(stem)
        path = paths[stem]
        content = path.read_bytes() if overlay is None else merged(path, overlay)
        uploads[f"{stem}.ksy"] = _origin(path) + content
    samples = {sample.name: _sample(sample, folder.parent) for sample in SAMPLES}
    order = f"# Generated by codegen.py from schemas/*.ksy: do not edit, {COMMAND}.\n"
    order += "".join(f"{name}\n" for name in [*uploads, *samples])
    rows = [(sample.name, len(samples[sample.name]), sample.schema, sample.shows) for sample in SAMPLES]
    return {
        "README.md": readme(COMMAND, list(uploads), rows).encode(),
        "upload-order.txt": order.encode(),
        **uploads,
        **samples,
    }


def _own_schemas(folder: Path) -> list[Path]:
    """Schemas that only the bundle has; they import none."""
    return sorted((folder / "webide").glob("*.ksy"))


def _origin(path: Path) -> bytes:
    name = path.name if path.parent.name != "webide" else f"webide/{path.name}"
    return f"# Generated by codegen.py from schemas/{name}: do not edit, {COMMAND}.\n".encode()


def _sample(sample: Sample, root: Path) -> bytes:
    data = bytearray()
    for piece in sample.pieces:
        path = root / VECTORS / piece.file
        if not path.is_file():
            raise SchemaError(f"the Web IDE's {sample.name} is cut from {VECTORS}/{piece.file}: not there")
        begin = len(data)
        data += path.read_bytes()[piece.start : piece.end]
        for position, content in piece.edits:
            data[begin + position : begin + position + len(content)] = content
    data += bytes(sample.num_zeros)
    if len(data) > MAX_LEN_SAMPLE:
        raise SchemaError(f"the Web IDE's {sample.name} has {len(data)} bytes, {MAX_LEN_SAMPLE} are the most")
    return bytes(data)
