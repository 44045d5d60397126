"""Put machine code into a wheel: hatchling calls this, and nothing happens unless `make wheels` asks for it.

`KAFKA_SEGMENTS_LIBRARIES` is the folder with the shared libraries of one machine, whose name it has.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

__all__ = ["MachineCodeHook"]

VARIABLE = "KAFKA_SEGMENTS_LIBRARIES"
# The libraries need memcpy and pread of the process, whatever its C library and the version of that.
_PLATFORMS = "manylinux_2_17_{0}.manylinux2014_{0}.musllinux_1_1_{0}"


class MachineCodeHook(BuildHookInterface):  # type: ignore[type-arg]
    """Hook of the wheel target."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Add the libraries, and name the platforms that the wheel is for."""
        named = os.environ.get(VARIABLE)
        if not named or version == "editable":
            return
        folder = Path(named)
        for path in sorted(folder.glob(f"{folder.name}-*.so*")):
            build_data["force_include"][str(path)] = f"kafka_segments/core/native/machine_code/{path.name}"
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-{_PLATFORMS.format(folder.name)}"
