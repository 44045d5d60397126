"""Record log directories of real Kafka brokers: `python tests/recording/record.py [kafka-4.3 kafka-2.8 ...]`.

Starts brokers from Maven Central on loopback ports, lets real clients write to them, copies the log directories
to tests/vectors/recorded, and has Kafka's own classes read them (tests/vectors/oracle). Needs Java >= 17 with
javac, Maven, and the Python clients. Timestamps of the brokers and ids differ on every recording, so what is
committed is the recording, and this is how it was made.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path

import kafka43
from server import jvm

RECORDERS = {"kafka-4.3": kafka43.record}


def main(names: list[str]) -> int:
    """Record the named releases, or all."""
    unknown = sorted(set(names) - set(RECORDERS))
    missing = jvm.missing_tools()
    if unknown or missing:
        print(missing or f"no such recording: {', '.join(unknown)} (there are {', '.join(RECORDERS)})", file=sys.stderr)
        return 2
    folder = jvm.CACHE / "recording"
    folder.mkdir(parents=True, exist_ok=True)
    work = Path(tempfile.mkdtemp(dir=folder))
    for name in names or RECORDERS:
        print(f"{name}: recording", flush=True)
        RECORDERS[name](work / name)
    shutil.rmtree(work)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
