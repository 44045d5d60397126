"""Show what Kafka and the commands of pages say: `python -m tests.incidents.rehearse WORK NAME...`.

For those who write a page: incidents whose names contain NAME are played in the new folder WORK, without
looking at what pages promise.
"""

from __future__ import annotations

import sys
from pathlib import Path

from tests.incidents.incident import Incident, incidents
from tests.incidents.stage import Stage


def main(work: str, *names: str) -> None:
    """Play incidents, and print what was said and read."""
    Path(work).mkdir()
    stage = Stage([one for one in incidents() if any(name in one.name for name in names)], Path(work))
    try:
        stage.play()
    finally:
        for incident in stage.incidents:
            show(stage, incident)


def show(stage: Stage, incident: Incident) -> None:
    """Print what was said of an incident; of the broker's log the lines about its topics."""
    topics = tuple(f"{topic}-0" for topic in incident.topics)
    print(f"=== {incident.name}")
    for line in stage.scenes[incident.name].words.splitlines():
        if incident.witness is not None or any(topic in line for topic in topics):
            print(line)
    for command, status, said in stage.printed[incident.name]:
        print(f"--- {command.line}   # exit status {status}\n{said}")
    for line in stage.lines:
        if line["topic"] in incident.topics and line["type"] == "bounds":
            print(line)


if __name__ == "__main__":
    main(*sys.argv[1:])
