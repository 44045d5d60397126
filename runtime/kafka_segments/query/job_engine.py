"""Engines: what runs the tasks of a job, in this process, in others, or on a cluster.

A task is a value with a method `run` that can be pickled, and so is its result. An engine runs each once or
more often, and returns one result of each.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol, TypeVar

__all__ = ["Engine", "Progress", "RunnableTask"]

R = TypeVar("R")
R_co = TypeVar("R_co", covariant=True)

Progress = Callable[[int, int], None]
"""Callback with the bytes that finished tasks had to read, and those of all tasks."""


class RunnableTask(Protocol[R_co]):
    """A task.

    Attributes:
        num_bytes: that it has to read, about, for progress.
    """

    @property
    def num_bytes(self) -> int: ...

    def run(self) -> R_co:
        """Do it."""
        ...


class Engine(Protocol):
    """Runs tasks.

    Attributes:
        start_seconds: what its start took.
    """

    start_seconds: float

    def run(self, tasks: Sequence[RunnableTask[R]], show: Progress | None = None) -> list[R]:
        """Run all tasks; return their results in order.

        Args:
            tasks: values that can be pickled.
            show: is called now and then.

        Raises:
            KafkaFormatError: what a task raised; the others are ended.
        """
        ...
