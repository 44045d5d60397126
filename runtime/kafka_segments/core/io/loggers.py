"""Loggers of the package: arguments are escaped, and warnings name the program, before any handler."""

from __future__ import annotations

import logging

from kafka_segments.errors.escaping import shown

__all__ = ["get_logger"]


def get_logger(name: str) -> logging.Logger:
    """Return the logger of a module, which escapes control characters and hides secrets.

    Its warnings begin with the program's name, as all messages of the command do: where no handler is set,
    Python prints them as they are.
    """
    logger = logging.getLogger(name)
    if _SHOWN not in logger.filters:
        logger.addFilter(_SHOWN)
    return logger


class _Shown(logging.Filter):
    """Filter that escapes the arguments of a log record, and puts the program's name before a warning."""

    def filter(self, record: logging.LogRecord) -> bool:
        if isinstance(record.args, tuple):
            record.args = tuple(
                one if isinstance(one, int | float) else shown(str(one)) for one in record.args
            )
        if record.levelno >= logging.WARNING:
            record.msg = f"kafka-segments: {record.msg}"
        return True


_SHOWN = _Shown()
