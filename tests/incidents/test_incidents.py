"""Accidents that happened, re-enacted on a real broker's directories, and mended as their pages say.

Strategy: the page is the script. Kafka's words on it are looked for in what Kafka says of the damaged files,
its commands are run and must print what it shows, and a broker on the result must serve what its table
promises: offsets by Kafka's consumer, and the values that clients wrote.
"""

from __future__ import annotations

import base64
import re

import pytest
from tests.broker.harness import distrust
from tests.incidents.incident import CLEAN_SHUTDOWN, Incident, incidents
from tests.incidents.incident_pages import Promise, promises_of, unseen, words_of
from tests.incidents.stage import Stage

pytestmark = pytest.mark.broker

# After a crash a broker speaks of every partition that it recovers; of one that it cuts it says this.
CUT = re.compile(r"(?i)truncating|corrupt|invalid|deleting|stray|rebuilding|Incremented log start offset")
# A log with leader epochs above its topic's: followers would not take it.
EPOCHS = "caused truncation of conflicting entries"


@pytest.fixture(scope="session")
def played(tmp_path_factory: pytest.TempPathFactory) -> Stage:
    """All incidents, played once."""
    stage = Stage(incidents(), tmp_path_factory.mktemp("incidents"))
    stage.play()
    return stage


@pytest.fixture(params=incidents(), ids=lambda one: one.name)
def incident(request: pytest.FixtureRequest) -> Incident:
    """Each of the incidents."""
    found: Incident = request.param
    return found


def test_kafka_says_what_the_page_shows(played: Stage, incident: Incident) -> None:
    shown = words_of(incident.name)
    assert shown
    assert unseen(shown, played.scenes[incident.name].words) == []


def test_the_commands_print_what_the_page_shows(played: Stage, incident: Incident) -> None:
    printed = played.printed[incident.name]
    assert any(command.line.startswith("kafka-segments ") for command, _status, _said in printed)
    for command, status, said in printed:
        assert status == command.status, f"{command.line}\n{said}"
        assert unseen(command.output, said) == [], f"{command.line}\n{said}"


def test_a_broker_serves_what_the_page_promises(played: Stage, incident: Incident) -> None:
    promises = promises_of(incident.name)
    assert {one.topic for one in promises} == set(incident.topics)
    for promise in promises:
        lines = [line for line in played.lines if line["topic"] == promise.topic]
        lines = [line for line in lines if line["isolation"] == "read_uncommitted"]
        bounds = [(line["first_offset"], line["end_offset"]) for line in lines if line["type"] == "bounds"]
        assert bounds == [(promise.log_start, promise.log_end)]
        read = {line["offset"]: line["value"] for line in lines if line["type"] == "record"}
        assert tuple(read) == promise.offsets
        assert read == served(promise, played.scenes[incident.name].written[promise.topic])


def served(promise: Promise, written: dict[int, bytes]) -> dict[int, str]:
    """The values that clients wrote, at the offsets that are promised."""
    return {offset: base64.b64encode(written[offset]).decode() for offset in promise.offsets}


def test_the_broker_takes_the_results_as_they_are(played: Stage, incident: Incident) -> None:
    is_clean = (played.scenes[incident.name].data / CLEAN_SHUTDOWN).exists()
    for topic in incident.topics:
        lines = distrust(played.log, topic)
        assert [line for line in lines if is_clean or CUT.search(line)] == []
        assert [line for line in played.log.splitlines() if f"{topic}-0" in line and EPOCHS in line] == []
