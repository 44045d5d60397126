"""Shared libraries without what is never loaded: symbols and information for debuggers, most of their bytes.

Strategy: the program header table of an ELF file lists all that is loaded; it stays at its place, for
positions refer to it, and all else is cut off or becomes zeros. Programs that do this (`strip`) know one
machine's files, and differ from version to version; this gives the same bytes everywhere.
"""

from __future__ import annotations

import struct

__all__ = ["stripped"]

# System V ABI, Object Files: Elf64_Ehdr and Elf64_Phdr, little-endian.
_HEADER = struct.Struct("<16sHHIQQQIHHHHHH")
_PROGRAM = struct.Struct("<IIQQQQQQ")


def stripped(library: bytes) -> bytes:
    """Return a shared library with nothing but what is loaded.

    Args:
        library: an ELF file of 64 bits, little-endian.
    """
    head = _HEADER.unpack_from(library)
    of_programs, len_header, num_programs = head[5], head[8], head[10]
    spans = [(0, len_header), (of_programs, of_programs + num_programs * _PROGRAM.size)]
    for number in range(num_programs):
        program = _PROGRAM.unpack_from(library, of_programs + number * _PROGRAM.size)
        position, size = program[2], program[5]
        spans.append((position, position + size))
    kept = bytearray(max(end for _start, end in spans))
    for start, end in spans:
        kept[start:end] = library[start:end]
    no_sections = 0  # they are only for linkers and debuggers
    _HEADER.pack_into(kept, 0, *head[:6], no_sections, *head[7:12], no_sections, no_sections)
    return bytes(kept)
