"""Processes that work for this one: they end when it ends, and at once where it is interrupted."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing.connection import wait

__all__ = ["process_pool"]


@contextmanager
def process_pool(num_processes: int) -> Iterator[ProcessPoolExecutor]:
    """Provide a pool of processes; an error within the context ends them."""
    # Not forked: threads of libraries would be missing in the copy, and their locks would stay taken.
    context, others = multiprocessing.get_context("spawn"), multiprocessing.active_children()
    pool = ProcessPoolExecutor(num_processes, mp_context=context, initializer=_begin)
    try:
        yield pool
    except BaseException:
        for process in multiprocessing.active_children():
            if process not in others:
                process.terminate()  # else it would go on to the end of its task
        raise
    finally:
        pool.shutdown(cancel_futures=True)


def _begin() -> None:
    """Let the process that asked for the tasks end this one, also by being killed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()
    if parent is not None:
        threading.Thread(target=_end_with, args=(parent.sentinel,), daemon=True).start()


def _end_with(sentinel: int) -> None:
    wait([sentinel])
    os._exit(1)
