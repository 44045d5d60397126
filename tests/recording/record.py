"""Record log directories of real Kafka brokers: `python tests/recording/record.py [kafka-4.3 kafka-2.8 ...]`.

Starts brokers from Maven Central on loopback ports, lets real clients write to them, copies the log
directories to tests/vectors/recorded, and has Kafka's own classes read them (tests/vectors/oracle). Needs a
JDK >= 17, Maven, and the Python clients. Timestamps of the brokers and ids differ on every recording, so what
is committed is the recording, and this is how it was made.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path

# Run as a script: the project root holds `tests`.
sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
from tests.oracle import jvm
from tests.recording import features, kafka43, legacy, readme

RECORDERS = {
    "kafka-4.3": kafka43.record,
    "kafka-2.8": legacy.record_28,
    "kafka-0.10.2": legacy.record_0102,
    "kafka-0.9": legacy.record_09,
}


def main(names: list[str]) -> int:
    """Record the named releases, or all; status 1 if the sets then lack a feature that they are there for."""
    unknown = sorted(set(names) - set(RECORDERS))
    missing = jvm.missing_tools()
    if unknown or missing:
        known = f"no such recording: {', '.join(unknown)} (there are {', '.join(RECORDERS)})"
        print(missing or known, file=sys.stderr)
        return 2
    folder = jvm.CACHE / "recording"
    folder.mkdir(parents=True, exist_ok=True)
    work = Path(tempfile.mkdtemp(dir=folder))
    for name in names or RECORDERS:
        print(f"{name}: recording", flush=True)
        RECORDERS[name](work / name)
    shutil.rmtree(work)
    readme.write()
    lacking = features.missing()
    for fact in sorted(lacking):
        print(f"not recorded: {fact}", file=sys.stderr)
    return 1 if lacking else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
