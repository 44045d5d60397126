"""Run the tests of other languages in full, and write the table of docs/languages.md: `make test-languages`.

The table is written if each language has passed with these schemas, now or earlier; what is missing is
named. `KAITAI_RUNTIMES` names the folder with the runtimes of languages whose registries have none.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))


def main() -> int:
    """Run the tests, then collect what they have noted; returns the exit status."""
    from tools.test import prepare_node

    prepare_node()
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:randomly", "tests/languages", *sys.argv[1:]]
    # The test of the matrix looks at the last one, which this run is there to renew.
    command += ["--deselect", "tests/languages/test_matrix.py"]
    variables = {**os.environ, "KAFKA_SEGMENTS_LONG": "1"}
    if status := subprocess.run(command, cwd=ROOT, env=variables, check=False).returncode:
        return status
    from tests.languages import matrix
    from tools import tables

    missing = matrix.collect()
    if missing:
        print(f"the matrix stays as it is: not run here: {', '.join(missing)}")
        return 0
    return tables.main([])


if __name__ == "__main__":
    sys.exit(main())
