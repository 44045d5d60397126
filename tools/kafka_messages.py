"""Write schemas/kafka_messages.json: how Kafka lays out the records of its internal topics.

Kafka defines these messages in JSON files, which are in its jars. Taken from there are facts alone: names,
types, versions, tags and defaults of fields. `codegen.py` makes of them what reads such records.

    python tools/kafka_messages.py            write the file
    python tools/kafka_messages.py --check    status 1 if it is not what the jars have
"""

from __future__ import annotations

import json
import re
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tests.oracle import jvm  # noqa: E402  the root is no package

TARGET = ROOT / "schemas" / "kafka_messages.json"
POM = ROOT / "tests" / "recording" / "brokers" / "k4" / "pom.xml"
JARS = {
    "group": "kafka-group-coordinator",
    "transaction": "kafka-transaction-coordinator",
    "share": "kafka-share-coordinator",
    "metadata": "kafka-metadata",
}
PROTOCOL = ("ConsumerProtocolSubscription", "ConsumerProtocolAssignment")
_COMMENT = re.compile(r"^\s*//.*$", re.MULTILINE)
_KEPT = ("name", "type", "versions", "nullableVersions", "taggedVersions", "tag", "default")


def definitions(jar: Path) -> Iterator[dict[str, Any]]:
    """Yield the definitions of messages in a jar, by name."""
    with zipfile.ZipFile(jar) as archive:
        for name in sorted(archive.namelist()):
            if name.startswith("common/") and name.endswith(".json"):
                yield json.loads(_COMMENT.sub("", archive.read(name).decode()))


def jar_of(folder: Path, artifact: str) -> Path:
    """The jar of an artifact in a folder of jars."""
    (found,) = (path for path in folder.glob(f"{artifact}-*.jar") if path.stem[len(artifact) + 1].isdigit())
    return found


def reduced(message: dict[str, Any]) -> dict[str, Any]:
    """A message without what does not matter to a reader; structures stand where they are used."""
    common = {one["name"]: one["fields"] for one in message.get("commonStructs", ())}
    kept = {name: message[name] for name in ("name", "validVersions", "flexibleVersions")}
    return kept | {"fields": [_field(one, common) for one in message["fields"]]}


def _field(field: dict[str, Any], common: dict[str, Any]) -> dict[str, Any]:
    kept = {name: field[name] for name in _KEPT if name in field}
    inner = field.get("fields") or common.get(field["type"].removeprefix("[]"))
    return kept | ({"fields": [_field(one, common) for one in inner]} if inner else {})


def tables(folder: Path) -> dict[str, dict[str, Any]]:
    """All messages: of each kind of topic by number (a coordinator's as key and value), others by name."""
    found: dict[str, dict[str, Any]] = {kind: {} for kind in JARS}
    for kind, artifact in JARS.items():
        for message in definitions(jar_of(folder, artifact)):
            if kind == "metadata":
                found[kind][str(message["apiKey"])] = reduced(message)
            else:
                part = message["type"].removeprefix("coordinator-")
                found[kind].setdefault(str(message["apiKey"]), {})[part] = reduced(message)
        found[kind] = dict(sorted(found[kind].items(), key=lambda pair: int(pair[0])))
    clients = definitions(jar_of(folder, "kafka-clients"))
    found["protocol"] = {one["name"]: reduced(one) for one in clients if one.get("name") in PROTOCOL}
    return found


def text() -> str:
    """The file as it should be."""
    return json.dumps(tables(jvm.fetch_jars(POM)), indent=1) + "\n"


def main() -> int:
    """Write the file, or compare it."""
    made = text()
    if "--check" in sys.argv[1:]:
        return int(TARGET.read_text(encoding="utf-8") != made)
    TARGET.write_text(made, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
