"""The package's loggers: what they are given is escaped, for every handler of every program."""

from __future__ import annotations

import logging

from kafka_segments.errors.escaping import shown

__all__ = ["get_logger"]


def get_logger(name: str) -> logging.Logger:
    """Return the logger of a module, which shows names and errors without control characters and secrets."""
    logger = logging.getLogger(name)
    if _SHOWN not in logger.filters:
        logger.addFilter(_SHOWN)
    return logger


class _Shown(logging.Filter):
    """Makes arguments fit to be shown before any handler has the record."""

    def filter(self, record: logging.LogRecord) -> bool:
        if isinstance(record.args, tuple):
            record.args = tuple(
                one if isinstance(one, int | float) else shown(str(one)) for one in record.args
            )
        return True


_SHOWN = _Shown()
