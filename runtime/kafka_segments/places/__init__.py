"""Where files live: directories and files, listed and opened by path or address.

Strategy: an address says by its scheme which file system it belongs to; one without a scheme is a path of
this machine. What a listing says of a file (size, identity) travels with it, so that a reader elsewhere can
tell whether it is still the same.
"""

from kafka_segments.places.access import Places
from kafka_segments.places.model import Entry, FileSystem, PlacedSource

__all__ = ["Entry", "FileSystem", "PlacedSource", "Places"]
