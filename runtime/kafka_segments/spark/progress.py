"""How far a Spark job is, asked of Spark's status tracker beside the job."""

from __future__ import annotations

import threading
from collections.abc import Callable
from types import TracebackType

from pyspark import SparkContext

__all__ = ["Progress"]

_INTERVAL = 0.2  # seconds


class Progress:
    """Calls a function with the number of tasks done, while the context is open.

    Args:
        context: that runs the job.
        group: the job group to look at.
        show: is called from another thread, with numbers that never fall.
    """

    def __init__(self, context: SparkContext, group: str, show: Callable[[int], None]) -> None:
        self._tracker = context.statusTracker()
        self._group = group
        self._show = show
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="kafka-segments progress", daemon=True)

    def __enter__(self) -> Progress:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop.set()
        self._thread.join()

    def _run(self) -> None:
        most = 0
        while not self._stop.wait(_INTERVAL):
            try:
                done = self._num_done()
            except Exception:  # Spark is going down; the job itself says why
                return
            if done > most:
                most = done
                self._show(most)

    def _num_done(self) -> int:
        done = 0
        for job in self._tracker.getJobIdsForGroup(self._group):
            info = self._tracker.getJobInfo(job)
            for stage in info.stageIds if info else ():
                stage_info = self._tracker.getStageInfo(stage)
                done += stage_info.numCompletedTasks if stage_info else 0
        return done
