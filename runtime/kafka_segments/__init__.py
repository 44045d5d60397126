"""Read and write Kafka's record formats without a broker.

Example:
    >>> import kafka_segments
    >>> with kafka_segments.open_segment(b"") as segment:
    ...     for event in segment.iter_events(on_damage="skip"):
    ...         print(event)

Partitions, `read_table`, `scan` and the writing functions are imported at first use. `read_table` and the
writing functions need the extra `arrow`: without it the names exist, and calling one raises
`errors.MissingExtraError`, which names what to install.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from kafka_segments import errors
from kafka_segments.core.formats.entries import Batch, Damage, Padding, Record
from kafka_segments.core.segment.segment import Segment, open_segment

if TYPE_CHECKING:
    from kafka_segments.core.segment.table import read_table
    from kafka_segments.log.open_partition import open_partition
    from kafka_segments.log.partition import Partition
    from kafka_segments.query.scan import list_partitions, scan
    from kafka_segments.write.api import (
        encode_batch,
        encode_empty_batch,
        encode_records,
        iter_encoded,
        predicted_size,
    )
    from kafka_segments.write.control_batches import encode_control
    from kafka_segments.write.convert import Retention, down_convert, filter_batches, up_convert
    from kafka_segments.write.writer import (
        SegmentWriter,
        Written,
        open_partition_writer,
        open_writer,
        write_segment,
    )

__all__ = [
    "Batch",
    "Damage",
    "Padding",
    "Partition",
    "Record",
    "Retention",
    "Segment",
    "SegmentWriter",
    "Written",
    "__version__",
    "down_convert",
    "encode_batch",
    "encode_control",
    "encode_empty_batch",
    "encode_records",
    "errors",
    "filter_batches",
    "iter_encoded",
    "list_partitions",
    "open_partition",
    "open_partition_writer",
    "open_segment",
    "open_writer",
    "predicted_size",
    "read_table",
    "scan",
    "up_convert",
    "write_segment",
]

__version__ = "0.1.0.dev0"


_API = ("encode_batch", "encode_empty_batch", "encode_records", "iter_encoded", "predicted_size")
_WRITER = ("SegmentWriter", "Written", "open_partition_writer", "open_writer", "write_segment")
_CONVERSION = ("Retention", "down_convert", "filter_batches", "up_convert")
# Names that are imported at first use, with the module that defines each.
_MODULES = {
    "Partition": "log.partition",
    "open_partition": "log.open_partition",
    "list_partitions": "query.scan",
    "scan": "query.scan",
    "read_table": "core.segment.table",
    "encode_control": "write.control_batches",
    **dict.fromkeys(_CONVERSION, "write.convert"),
    **dict.fromkeys(_API, "write.api"),
    **dict.fromkeys(_WRITER, "write.writer"),
}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
    except errors.MissingExtraError as error:
        return _placeholder(name, error)


def _placeholder(name: str, missing: errors.MissingExtraError) -> Any:
    """Return a placeholder for a name whose extra is missing; calling it raises `MissingExtraError`.

    Raising here would break `help`, `import *` and `hasattr`: an error cannot be an ImportError and an
    AttributeError at once.
    """

    def fail(*_arguments: Any, **_named: Any) -> Any:
        raise errors.MissingExtraError(missing.detail, extra=missing.extra) from missing

    attributes = {"__doc__": f"Cannot be used here: {missing.detail}", "__module__": __name__}
    if name[0].isupper():
        return type(name, (), {"__new__": fail, **attributes})
    fail.__name__ = fail.__qualname__ = name
    for attribute, value in attributes.items():
        setattr(fail, attribute, value)
    return fail


def __dir__() -> list[str]:
    return [*__all__, *(name for name in globals() if name.startswith("__") and name not in __all__)]
