"""The code of docs/operations/pipeline.md and cluster.md by section, and a machine on which it runs."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "docs" / "operations" / f"{name}.md" for name in ("pipeline", "cluster")]
Blocks = dict[tuple[str, str], list[str]]


def section(title: str) -> str:
    """The text below a title of the second level, with what is below it."""
    found = (page.read_text(encoding="utf-8").partition(f"\n## {title}\n")[2] for page in PAGES)
    return next(filter(None, found)).partition("\n## ")[0]


def blocks() -> Blocks:
    """The fenced blocks, by section and language."""
    found: Blocks = defaultdict(list)
    text = "\n".join(page.read_text(encoding="utf-8") for page in PAGES)
    parts = re.split(r"^#+ (.+)$", text, flags=re.MULTILINE)
    for title, text in zip(parts[1::2], parts[2::2], strict=True):
        for language, code in re.findall(r"^```(\w+)\n(.*?)^```", text, re.MULTILINE | re.DOTALL):
            found[title, language].append(code)
    return dict(found)


class Site:
    """A machine on which the page's commands run: its variables, and the programs that they name.

    Args:
        root: an empty directory.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        self.logs, self.table, self.state = root / "logs", root / "lake" / "table", root / "state"
        self.metrics, self.programs = root / "metrics", root / "bin"
        for path in (self.logs, self.table.parent, self.state, self.metrics, self.programs):
            path.mkdir()
        self._program("kafka-segments", f'exec "{sys.executable}" -m kafka_segments "$@"')
        self._program("python3", f'exec "{sys.executable}" "$@"')

    def _program(self, name: str, line: str) -> None:
        path = self.programs / name
        path.write_text(f"#!/bin/sh\n{line}\n")
        path.chmod(0o755)

    def path(self) -> str:
        """The PATH: the programs above, those of this Python, those of the system."""
        return os.pathsep.join([str(self.programs), str(Path(sys.executable).parent), "/usr/bin", "/bin"])

    def variables(self) -> dict[str, str]:
        """The variables that the page names."""
        names = {"LOGS": self.logs, "TABLE": self.table, "STATE": self.state, "METRICS": self.metrics}
        return {name: str(path) for name, path in names.items()}

    def run(self, code: str, shell: str = "sh", **more: str) -> subprocess.CompletedProcess[str]:
        """Run commands as a shell does, ending at the first one that fails."""
        roots = os.pathsep.join([str(ROOT / "runtime"), str(ROOT / "generated")])
        environment = {**os.environ, "PYTHONPATH": roots, **self.variables(), "PATH": self.path(), **more}
        return subprocess.run(
            [shell, "-e", "-c", code],
            env=environment,
            cwd=self.root,
            capture_output=True,
            text=True,
            timeout=600,
        )

    def here(self, code: str) -> str:
        """Put this machine's paths in the place of those that the page names as examples."""
        examples = {
            "/var/lib/kafka-segments": self.state,
            "/var/lib/kafka/data": self.logs,
            "/lake/history": self.table,
            "/var/lib/node_exporter/textfile": self.metrics,
        }
        for example, path in examples.items():
            code = code.replace(example, str(path))
        return code
