"""Words of the tables that `ingest` writes; the command line takes them from here, without pyarrow."""

from __future__ import annotations

__all__ = ["COUNTS", "DIVISIONS"]

COUNTS = ("records", "control", "aborted", "absent", "lost")
"""What becomes of offsets: each that a run takes is counted as one of these."""

DIVISIONS = ("date", "hour")
"""What files may be divided by: columns `date`, or `date` and `hour`, in UTC, made from the timestamps."""
