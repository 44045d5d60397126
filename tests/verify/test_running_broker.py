"""Nothing is found in the log directory of a broker that is running, and of one that was killed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.broker import clients
from tests.ingest.running import SMALL_SEGMENTS, RunningBroker, Value, running_broker

from kafka_segments.cli.main import main

pytestmark = pytest.mark.broker


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningBroker]:
    """A broker with a topic of each kind."""
    with running_broker(tmp_path_factory.mktemp("verified") / "node") as found:
        yield found


def values(first: int, end: int) -> list[Value]:
    """Records with keys of their own."""
    return [(b"k%d" % number, b"value %d" % number) for number in range(first, end)]


def write(broker: RunningBroker, topic: str, config: dict[str, str]) -> None:
    """Make a topic with idempotent and transactional producers, one of them not done yet."""
    broker.create(topic, config, 2)
    for turn in range(4):
        idempotent = broker.producer(9, **{"enable.idempotence": True})
        for batch in range(3):
            clients.send(idempotent, topic, values(turn * 100 + batch * 10, turn * 100 + batch * 10 + 9))
        transactional = broker.transactional(f"{topic}-{turn}", 5)
        clients.send(transactional, topic, values(turn, turn + 5))
        if turn < 3:
            (transactional.commit_transaction if turn else transactional.abort_transaction)()


def found_in(data: Path, capfd: pytest.CaptureFixture[str], *options: str) -> str:
    """Verify a log directory; return the findings."""
    status = main(["verify", *options, str(data)])
    out, err = capfd.readouterr()
    assert status == 0, out + err
    return out


@pytest.mark.long(short=False)
def test_nothing_is_found_while_a_broker_runs_and_after_it_was_killed(
    broker: RunningBroker, capfd: pytest.CaptureFixture[str]
) -> None:
    write(broker, "rolled", SMALL_SEGMENTS)
    write(broker, "preallocated", {"preallocate": "true", "internal.segment.bytes": "1048576"})
    write(broker, "compressed", {"compression.type": "zstd"})
    assert found_in(broker.data, capfd) == ""  # its lock says that it is running
    assert found_in(broker.data, capfd, "--live") == ""
    broker.kill()
    assert found_in(broker.data, capfd) == ""
    broker.start()
    assert len(list((broker.data / "rolled-0").glob("*.log"))) > 2
    assert found_in(broker.data, capfd) == ""
