"""KAFKA-9144: a record that comes after the end of its transaction begins one that nothing ends."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from confluent_kafka import KafkaException, Producer
from confluent_kafka.admin import AlterConfigOpType, ResourceType
from tests.broker import clients
from tests.broker.clients import bounds_of, configure, producer_of
from tests.incidents.incident import Incident, Scene, nothing, value_of
from tests.recording.server import wait_until

TOPIC = "billing"
LATE, END = 6, 20
AGO_MS = 20 * 60_000
# As before Kafka 3.6 (KIP-890), with a broker that forgets a producer at once instead of after a day.
OLD = {"transaction.partition.verification.enable": "false", "producer.id.expiration.ms": "1"}


def write(scene: Scene) -> None:
    """Commit a transaction; let another one time out, and its producer wake up after that."""
    options = {"transactional.id": "billing", "transaction.timeout.ms": 1000, "linger.ms": 0}
    producer = producer_of(scene.node.bootstrap, **options)
    with altered(scene, OLD):
        producer.init_transactions(60)
        transaction(producer, 0, 1, 2)
        producer.commit_transaction(60)
        transaction(producer, 4)
        wait_until("the transaction to time out", lambda: end_of(scene) == LATE)
        wait_until("the producer to be forgotten", lambda: not known_producers(scene))
        send(producer, LATE)
        try:
            producer.commit_transaction(60)
        except KafkaException as error:
            scene.heard += f"{error.args[0].str()}\n"
    scene.send(TOPIC, range(LATE + 1, END), each=5)


def transaction(producer: Producer, *numbers: int) -> None:
    """Begin a transaction, and send records."""
    producer.begin_transaction()
    send(producer, *numbers)


def send(producer: Producer, *numbers: int) -> None:
    """Send records, as if it were some time ago."""
    moment = time.time_ns() // 1_000_000 - AGO_MS
    clients.send(producer, TOPIC, [(None, value_of(TOPIC, number)) for number in numbers], timestamp=moment)


@contextmanager
def altered(scene: Scene, values: Mapping[str, str]) -> Iterator[None]:
    """Have other settings of the broker for a while."""
    for operation in (AlterConfigOpType.SET, AlterConfigOpType.DELETE):
        configure(scene.node.bootstrap, "1", values, kind=ResourceType.BROKER, operation=operation)
        if operation == AlterConfigOpType.SET:
            yield


def end_of(scene: Scene) -> int:
    """The topic's end offset."""
    return bounds_of(scene.node.bootstrap, TOPIC)[1]


def known_producers(scene: Scene) -> list[str]:
    """Producers that the broker knows in the topic."""
    program = ("org.apache.kafka.tools.TransactionsCommand", "--bootstrap-server", scene.node.bootstrap)
    where = ("describe-producers", "--topic", TOPIC, "--partition", "0")
    _head, *rows = scene.node.kit.run(*program, *where).splitlines()
    return rows


def suffer(scene: Scene) -> None:
    """Read as a consumer of committed records."""
    assert scene.read(TOPIC, "read_committed") == [0, 1, 2]


INCIDENT = Incident("kafka-9144-hanging-transaction", {TOPIC: {}}, write, nothing, suffer, is_clean=True)
