"""Findings of planning an ingest, for the partitions concerned."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from kafka_segments.errors import MissingCodecError
from kafka_segments.formats.file_names import above
from kafka_segments.log.model import PartitionLog
from kafka_segments.query.plan import Plan
from kafka_segments.query.query import TopicPartition
from kafka_segments.query.read.findings import describe
from kafka_segments.spark.report import DAMAGE, LEFT_OUT, MISSING_CODEC, REMARK, PartitionReport

__all__ = ["report_plan"]


def report_plan(logs: Sequence[PartitionLog], planned: Plan) -> list[PartitionReport]:
    """A report for each partition, those without a segment to read too, with what planning found.

    Args:
        logs: the partitions that were planned.
        planned: the plan for them.
    """
    reports = {(log.topic, log.partition): PartitionReport(log.topic, log.partition) for log in logs}
    for loss in planned.losses:
        reports[loss.topic, loss.partition].lose(loss)
    for one in planned.left_out:
        if one.is_astray:
            where = "" if one.first_offset is None else f"offsets {one.first_offset} to {one.last_offset}, "
            reports[one.topic, one.partition].tell(LEFT_OUT, f"{where}{one.path}: left out: {one.why}")
        elif one.why.startswith("behind "):
            words = f"offsets {one.first_offset} to {one.last_offset} were not read: {one.why}"
            reports[one.topic, one.partition].tell(REMARK, words)
    for remark in planned.remarks:
        reports[remark.topic, remark.partition].tell(REMARK, remark.why)
    owners = _owners(logs)
    for damage in planned.doubts:
        kind = MISSING_CODEC if isinstance(damage.error, MissingCodecError) else DAMAGE
        for key in owners.get(above(damage.path), ()):
            reports[key].tell(kind, describe(damage))
    for error in planned.findings:
        # A file at the top of a log directory concerns all partitions below; it is reported once.
        path = error.path or ""
        whose = owners.get(above(path)) or [key for top, key in _tops(logs) if top == above(path)]
        for key in whose[:1] or list(reports)[:1]:
            reports[key].tell(LEFT_OUT, f"{error}; what it says was not used")
    return list(reports.values())


def _owners(logs: Iterable[PartitionLog]) -> dict[str, list[TopicPartition]]:
    """Whose a directory is: that of a copy, or of a segment."""
    owners: dict[str, list[TopicPartition]] = {}
    for log in logs:
        segments = (above(piece.segment.file.path) for piece in log.pieces)
        for directory in {*(copy.rstrip("/") for copy in log.copies), *segments}:
            owners.setdefault(directory, []).append((log.topic, log.partition))
    return owners


def _tops(logs: Iterable[PartitionLog]) -> list[tuple[str, TopicPartition]]:
    """The log directories that partitions lie in."""
    return [(above(copy), (log.topic, log.partition)) for log in logs for copy in log.copies]
