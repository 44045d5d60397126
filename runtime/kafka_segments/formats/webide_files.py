"""The folder for the Kaitai Web IDE: schemas, samples and instructions, as `codegen.py` writes them."""

from __future__ import annotations

from pathlib import Path

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
    package = Path(__file__).resolve().parents[1]
    # A wheel has them in the package. An editable install, and a clone, use the folder of generated files.
    folders = (package / "webide", package.parents[1] / "generated" / "webide")
    folder = next((one for one in folders if (one / _ORDER).is_file()), None)
    if folder is None:
        detail = "the files for the Web IDE are missing in this installation: install kafka-segments again"
        raise ReadError(detail, path=str(package))
    try:
        lines = (folder / _ORDER).read_text(encoding="utf-8").splitlines()
        names = [INSTRUCTIONS, *(line for line in lines if not line.startswith("#"))]
        return {name: (folder / name).read_bytes() for name in names}
    except OSError as error:
        raise ReadError(f"a file for the Web IDE cannot be read: {error}", path=str(folder)) from error
