"""Reading a file from its disk, past the page cache (O_DIRECT).

Nothing is brought into the cache that is the broker's, and nothing has to be given up again. It takes less of
the CPU, too: the same few buffers are filled by the disk over and over, where the kernel would have to find,
and a virtual machine to map, new memory for each page.
"""

from __future__ import annotations

import os

from kafka_segments.errors import StoreError
from kafka_segments.io.readahead import AheadSource

__all__ = ["open_direct"]

_BLOCK = 4096  # no disk in use has larger ones
_LEN_PIECE = 4 << 20
_O_DIRECT = getattr(os, "O_DIRECT", 0)


def open_direct(descriptor: int, name: str, size: int, end: int | None) -> AheadSource | None:
    """The file behind a descriptor, which stays the caller's; None if it cannot be read so.

    What goes wrong later is a `StoreError`; the file itself can say then what it was.

    Args:
        descriptor: of an open file.
        name: as people know it.
        size: of the file.
        end: see `AheadSource`.
    """
    if not _O_DIRECT:
        return None
    try:
        # The same file, whatever stands under its name by now.
        direct = os.open(f"/proc/self/fd/{descriptor}", os.O_RDONLY | os.O_CLOEXEC | _O_DIRECT)
    except OSError:
        return None  # a file system in memory, or one over the network
    return AheadSource(_Blocks(direct, name, size), end, _LEN_PIECE)


class _Blocks:
    """See `Ranges`."""

    block = _BLOCK
    identity = ""

    def __init__(self, descriptor: int, address: str, size: int) -> None:
        self._descriptor = descriptor
        self.address, self.size = address, size

    def fetch(self, position: int, view: memoryview) -> None:
        """See `Ranges`."""
        wanted = min(len(view), self.size - position)
        try:
            num_read = os.preadv(self._descriptor, [view], position)
        except OSError as error:
            raise StoreError(error.strerror or "it cannot be read", path=self.address) from error
        if num_read < wanted:
            raise StoreError(f"{num_read} of {wanted} bytes at position {position}", path=self.address)

    def close(self) -> None:
        """Whoever is still reading reads on: the descriptor goes with the last one."""

    def __del__(self) -> None:
        os.close(self._descriptor)
