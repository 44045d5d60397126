"""From a source's bytes to Arrow, by the generated decoders: the fast way, of which no record is an object.

`reader` is the way in. Needs the extra `arrow`; nothing below `segment` but this package knows pyarrow or
numpy.
"""

from __future__ import annotations

from importlib.util import find_spec

from kafka_segments.errors import MissingExtraError

for _package in ("pyarrow", "numpy", "numba", "llvmlite"):
    try:
        _is_there = find_spec(_package) is not None
    except ValueError:  # something is under this name in sys.modules that is no module
        _is_there = False
    if not _is_there:
        raise MissingExtraError(
            f"Arrow data need {_package}, to read and to write: pip install 'kafka-segments[arrow]'",
            extra="arrow",
        )

from kafka_segments.native import binding as _binding  # noqa: E402, F401  says so if llvmlite cannot be loaded
