"""Kafka's classes, started once for all tests of a process."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.conversion.kafka_classes import Kafka


@pytest.fixture(scope="session")
def kafka39() -> Iterator[Kafka]:
    """Kafka 3.9.2."""
    with Kafka("39") as kafka:
        yield kafka


@pytest.fixture(scope="session")
def kafka43() -> Iterator[Kafka]:
    """Kafka 4.3.1."""
    with Kafka("43") as kafka:
        yield kafka
