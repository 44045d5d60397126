"""Signals that end a command: Ctrl-C, SIGTERM and SIGHUP.

Strategy: Python raises KeyboardInterrupt wherever the main thread is. In a destructor, in a generator that is
being closed, or in a library's callback the exception is lost, and the command would go on. So the signal is
noted, the exception is raised every tenth of a second until it is being handled, and what makes a result
visible calls `check_not_ended` first.
"""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["check_not_ended", "ended_by_signals"]

_ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_DEFAULTS = (signal.SIG_DFL, signal.default_int_handler)
_SECONDS_BETWEEN = 0.1
_noted: list[int] = []


@contextmanager
def ended_by_signals() -> Iterator[None]:
    """Let signals end what is done within the context; those that the process ignores do not.

    Raises:
        KeyboardInterrupt: after Ctrl-C.
        SystemExit: after SIGTERM or SIGHUP, with the status that shells give it: 128 plus its number.
    """
    is_main = threading.current_thread() is threading.main_thread()
    numbers = [one for one in _ENDING if is_main and signal.getsignal(one) in _DEFAULTS]
    handlers, hook = {one: signal.signal(one, _end) for one in numbers}, sys.unraisablehook
    sys.unraisablehook = lambda lost: None if _noted else hook(lost)
    try:
        yield
        check_not_ended()
    except Exception:
        check_not_ended()  # the signal is why
        raise
    finally:
        if _noted:
            signal.setitimer(signal.ITIMER_REAL, 0)
        for number, handler in handlers.items():
            signal.signal(number, handler)
        sys.unraisablehook = hook
        _noted.clear()


def check_not_ended() -> None:
    """Raise again what a signal has raised, if there was one."""
    if _noted:
        raise _exception()


class _Interrupt(KeyboardInterrupt):
    """Ctrl-C: a KeyboardInterrupt itself, if it passes through `exec`, has Python end by SIGINT later on."""


def _exception() -> BaseException:
    return _Interrupt() if _noted[0] == signal.SIGINT else SystemExit(128 + _noted[0])


def _end(number: int, _frame: object) -> None:
    if not _noted:
        _noted.append(number)
        signal.signal(signal.SIGALRM, _end)
        signal.setitimer(signal.ITIMER_REAL, _SECONDS_BETWEEN, _SECONDS_BETWEEN)
    error = sys.exc_info()[1]
    while error is not None:
        if isinstance(error, (KeyboardInterrupt, SystemExit)):
            return  # files are being removed, threads awaited: that is to be done
        error = error.__context__
    raise _exception()
