"""Rows and Arrow to batches, segments and their indexes.

`api` returns bytes, `writer` writes files. Needs the extra `arrow`; control records and index files also need
`construct`.
"""

from __future__ import annotations

from kafka_segments.segment import columnar  # noqa: F401 (raises with what to install if Arrow is missing)
