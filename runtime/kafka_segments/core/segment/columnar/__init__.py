"""From a source's bytes to Arrow by the generated decoders: the fast way, without an object per record.

`reader` is the way in. Needs the extra `arrow`; nothing below `segment` but this package knows pyarrow or
numpy.
"""

from __future__ import annotations

from kafka_segments.core.native import library
from kafka_segments.errors.packages import check_packages

check_packages(("pyarrow", "numpy"), "Arrow data need", "arrow", ", to read and to write")
if not library.is_there():
    check_packages(("numba", "llvmlite"), "Arrow data need", "arrow,jit", ", to read and to write")
    from kafka_segments.core.native import cpu as _cpu  # noqa: F401  says so if llvmlite cannot be loaded
