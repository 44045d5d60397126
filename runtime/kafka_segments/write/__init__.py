"""Rows and Arrow to batches, segments and their indexes.

`api` makes bytes, `writer` files. Needs the extra `arrow`; control records and index files also `construct`.
"""

from __future__ import annotations

from kafka_segments.segment import columnar  # noqa: F401 (says what to install if Arrow is not there)
