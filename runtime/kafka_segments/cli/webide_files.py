"""The folder for the Kaitai Web IDE: schemas, samples and instructions, as `codegen.py` writes them."""

from __future__ import annotations

from kafka_segments.core.formats.own_files import own_folder
from kafka_segments.errors import ReadError

__all__ = ["INSTRUCTIONS", "read_webide_files"]

INSTRUCTIONS = "README.md"
"""The name of the file with the steps to take."""
_ORDER = "upload-order.txt"


def read_webide_files() -> dict[str, bytes]:
    """Return the files by name: instructions, schemas, samples.

    Raises:
        ReadError: they are missing (the installation is incomplete), or cannot be read.
    """
    folder = own_folder("webide", "generated/webide", _ORDER)
    if folder is None:
        raise ReadError(
            "the files for the Web IDE are missing in this installation: install kafka-segments again"
        )
    try:
        lines = (folder / _ORDER).read_text(encoding="utf-8").splitlines()
        names = [INSTRUCTIONS, *(line for line in lines if not line.startswith("#"))]
        return {name: (folder / name).read_bytes() for name in names}
    except OSError as error:
        raise ReadError(f"a file for the Web IDE cannot be read: {error}", path=str(folder)) from error
