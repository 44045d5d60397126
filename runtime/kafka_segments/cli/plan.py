"""Subcommand `plan`: show what a query reads, and why it skips the rest."""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import chain, groupby

from kafka_segments.cli import console, parsing
from kafka_segments.cli.output import (
    Line,
    attributes_of,
    finding_line,
    left_out_line,
    line_values,
    passed_over_line,
    print_lines,
)
from kafka_segments.cli.text import counted
from kafka_segments.core.formats.file_names import absolute_path
from kafka_segments.core.io.filesystems import Places
from kafka_segments.core.io.store_settings import store_settings
from kafka_segments.errors import OptionError
from kafka_segments.log.discovery import FileOptions
from kafka_segments.log.findings import LEFT_OUT_KINDS, Finding, Kind
from kafka_segments.log.log_check import check_log
from kafka_segments.log.log_dir import refuse_below_sources
from kafka_segments.log.model import PartitionLog, Split
from kafka_segments.log.opening import Budget
from kafka_segments.log.skipped_files import SkippedFiles
from kafka_segments.query.committed import Committed
from kafka_segments.query.cut import num_bytes_of
from kafka_segments.query.offsets import Range
from kafka_segments.query.option_values import time_of
from kafka_segments.query.options import option_names
from kafka_segments.query.plan import Plan, plan
from kafka_segments.query.query import Column, Condition, Query, TopicPartition
from kafka_segments.query.query_options import check_with_snapshot, files_of, query_of, unused_options
from kafka_segments.query.resolve import logs_asked_for
from kafka_segments.query.snapshot import Changed, pinned_logs, read_snapshot, take_snapshot, write_snapshot

__all__ = ["add_parser", "run"]

_WRONG = (Kind.UNUSED, Kind.DAMAGE)
_OPTIONS = option_names("query", "file")


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `plan` to the command's parsers."""
    parser = subparsers.add_parser(
        "plan",
        help="show what a query reads, and why it skips the rest",
        description="Plan a query as the Spark source does, but without Spark, and print the ranges of "
        "offsets, the tasks, what is left out and why, and what was requested but is missing.",
        epilog="Exit status: 0 clean, 1 lost offsets (with failOnDataLoss), a transaction in doubt, or a "
        "wrong file beside the segments, 2 a path that cannot be opened, or options that contradict each "
        "other.",
    )
    parsing.add_sources(parser, ", as load() takes them", metavar="SRC", nargs="*")
    parsing.add_named_options(parser, f"an option of the source: {', '.join(_OPTIONS)}")
    parsing.add_options(parser, "subscribe", "subscribePattern", "kafka.isolation.level")
    parser.add_argument(
        "-w",
        "--where",
        action="append",
        default=[],
        metavar="CONDITION",
        help="a condition for Spark to push down, such as 'timestamp >= 2026-01-31T12:00:00Z' (or "
        "milliseconds), 'offset < 500', 'partition = 3', 'topic = orders'; may be repeated, and all must "
        "hold",
    )
    parser.add_argument("--snapshot", metavar="FILE", help="plan from a snapshot instead of SRC")
    parser.add_argument("--take-snapshot", metavar="FILE", help="write a snapshot of SRC to this file")
    parsing.add_flag(
        parser,
        "--compare-copies",
        "also compare the batch headers of all copies (replicas, disks, tiers) of what is read, and "
        "report sound batches that differ; this reads every copy, also in object stores",
    )
    parsing.add_format(parser)
    parsing.add_examples(
        parser,
        ("plan /var/lib/kafka/data --subscribe orders", "what a query of a topic reads"),
        ("plan /data1 --where 'timestamp >= 2026-01-31T12:00:00Z'", "which segments may meet a condition"),
    )
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Run the subcommand; return the exit status."""
    options = parsing.named_options(arguments.option, _OPTIONS) | parsing.options_of(arguments)
    if arguments.snapshot is not None:
        check_with_snapshot(options)
    query = replace(query_of(options), conditions=tuple(_conditions(arguments.where)))
    files = files_of(options)
    for words in unused_options(options):
        console.say(words)
    places = Places(store_settings(options))
    skipped: list[SkippedFiles] = []
    with console.waiting("listing and opening segments"):
        logs, committed, changed = _logs(arguments, query, files, places, skipped)
    with console.waiting(f"planning partitions: {len(logs)}"):
        made = _checked(plan(logs, query, places, committed), logs, query, places)
        if arguments.compare_copies:
            made = _compared(made, places)
    with console.printing():
        print_lines(_lines(made, query, changed, skipped), arguments.format)
    is_lost = query.fail_on_data_loss and (made.of(Kind.LOST) or changed)
    return console.FINDINGS if is_lost or made.of(*_WRONG) else console.CLEAN


def _checked(made: Plan, logs: Sequence[PartitionLog], query: Query, places: Places) -> Plan:
    """Return the plan with findings that comparing the segments of each log gives for the range read."""
    ranges = {(one.topic, one.partition): one for one in made.ranges}
    budget = Budget(query.limits.max_walk_bytes)
    findings = list(made.findings)
    known = _by_partition(made.of(Kind.LOST))
    for log in logs:
        asked = ranges.get((log.topic, log.partition))
        if asked is None:
            continue
        start = 0 if query.start.kind == "earliest" else asked.start
        is_to_end = query.end.kind == "latest"
        for found in check_log(places, log, budget):
            if found.kind is Kind.LOST:
                first, last = found.first_offset or 0, found.last_offset or 0
                is_before_end = is_to_end or asked.end is None or first < asked.end
                is_known = any(
                    (one.first_offset or 0) <= first and (one.last_offset or 0) >= last
                    for one in known.get((log.topic, log.partition), ())
                )
                if last < start or not is_before_end or is_known:
                    continue
            findings.append(found)
    return replace(made, findings=tuple(findings))


def _compared(made: Plan, places: Places) -> Plan:
    """The plan, with what a comparison of all copies finds."""
    import kafka_segments.core.segment.columnar  # noqa: F401  an error of ours without the extra `arrow`
    from kafka_segments.query.read.replica_comparison import find_mismatches

    found = [
        Finding.of_error(Kind.DAMAGE, split.topic, split.partition, error)
        for task in made.tasks
        for split in task
        for error in find_mismatches([split], places)
    ]
    return replace(made, findings=(*made.findings, *found))


def _by_partition(found: Iterable[Finding]) -> dict[TopicPartition, list[Finding]]:
    by_partition: dict[TopicPartition, list[Finding]] = {}
    for one in found:
        by_partition.setdefault((one.topic, one.partition), []).append(one)
    return by_partition


def _logs(
    arguments: argparse.Namespace,
    query: Query,
    files: FileOptions,
    places: Places,
    skipped: list[SkippedFiles],
) -> tuple[list[PartitionLog], dict[TopicPartition, Committed], list[Changed]]:
    if arguments.snapshot is not None:
        if arguments.sources or arguments.take_snapshot:
            raise OptionError("a snapshot lists the files to read: give SRC or --snapshot, not both")
        snapshot = read_snapshot(places, arguments.snapshot)
        logs, changed = pinned_logs(snapshot, places, fail_on_data_loss=query.fail_on_data_loss)
        return logs, snapshot.committed(), changed
    if not arguments.sources:
        raise OptionError("no source is given: give log directories, partitions' directories or .log files")
    if arguments.take_snapshot is not None:
        taken_to = os.path.realpath(arguments.take_snapshot)
        refuse_below_sources(arguments.sources, taken_to, arguments.take_snapshot)
    paths = list(map(absolute_path, arguments.sources))
    # A snapshot has all that the sources hold.
    is_merged = None if arguments.take_snapshot is None else lambda _topic: True
    logs = logs_asked_for(places, paths, query, files, skipped, is_merged=is_merged)
    if arguments.take_snapshot is None:
        return logs, {}, []
    with_transactions = query.isolation == "read_committed"
    taken = take_snapshot(
        logs, places, with_transactions=with_transactions, max_walk_bytes=query.limits.max_walk_bytes
    )
    write_snapshot(taken, arguments.take_snapshot)
    return list(taken.logs), taken.committed(), []


def _conditions(given: Sequence[str]) -> Iterator[Condition]:
    for text in given:
        column, operator, value = (*text.split(None, 2), "", "", "")[:3]
        if column == "topic" and operator in ("=", "=="):
            yield Condition("topic", values=frozenset({value}))
            continue
        if column not in ("partition", "offset", "timestamp"):
            raise OptionError(
                f"--where {text!r}: give a column (topic, partition, offset, timestamp), one of = < <= > "
                ">=, and a value, separated by blanks"
            )
        yield _condition(column, operator, _number(column, value, text), text)  # type: ignore[arg-type]


def _number(column: str, value: str, text: str) -> int:
    """Parse a condition's value: a number; for a timestamp also ISO 8601, in UTC without a zone."""
    if value.lstrip("+-").isdecimal():
        return int(value)
    if column != "timestamp":
        raise OptionError(f"--where {text!r}: {column} takes a number, and {value!r} is not one")
    return time_of(f"--where {text!r}:", value) or 0


def _condition(column: Column, operator: str, value: int, text: str) -> Condition:
    if operator in ("=", "=="):
        return Condition(column, value, value)
    if operator in ("<", "<="):
        return Condition(column, highest=value - (operator == "<"))
    if operator in (">", ">="):
        return Condition(column, lowest=value + (operator == ">"))
    raise OptionError(f"--where {text!r}: {operator!r} is not one of = < <= > >=")


def _lines(
    made: Plan, query: Query, changed: Sequence[Changed], skipped: Sequence[SkippedFiles]
) -> Iterator[Line]:
    by_partition: dict[TopicPartition, list[tuple[int, Split]]] = {}
    for number, task in enumerate(made.tasks):
        for split in task:
            by_partition.setdefault((split.topic, split.partition), []).append((number, split))
    left_out = _by_partition(made.of(*LEFT_OUT_KINDS))
    for one in made.ranges:
        key = (one.topic, one.partition)
        yield _range(one, by_partition.get(key, []))
        yield from _pin(one, made.committed.get(key))
        yield from _splits(by_partition.get(key, []))
        yield from _left_out(left_out.get(key, ()))
    there = {(one.topic, one.partition) for one in made.ranges}
    yield from _left_out(chain.from_iterable(left_out[key] for key in left_out if key not in there))
    yield from map(passed_over_line, skipped)
    yield from map(finding_line, (*made.of(Kind.LOST), *made.of(Kind.REMARK)))
    for change in changed:
        yield Line(line_values("changed", change, "path", "why"), f"{change.path}: {change.why}")
    yield from (finding_line(one) for kind in _WRONG for one in made.of(kind) if one.error is not None)
    yield _summary(made, query)


def _range(one: Range, splits: Sequence[tuple[int, Split]]) -> Line:
    num_bytes = sum(num_bytes_of(split) for _number, split in splits)
    num_tasks = len({number for number, _split in splits})
    names = "topic", "partition", "start", "end", "log_start_offset", "log_end_offset"
    values = line_values("range", one, *names, end_is=str(one.end_is), limit=one.limit)
    values |= {"num_splits": len(splits), "num_tasks": num_tasks, "num_bytes": num_bytes}
    end = "the end" if one.end is None else f"{one.end}"
    words = (
        f"{one.topic}-{one.partition}: offsets {one.start} to {end} ({one.end_is}), of a log from "
        f"{one.log_start_offset} on; {counted(len(splits), 'split')} in {counted(num_tasks, 'task')}, "
        f"{num_bytes} bytes"
    )
    return Line(values, words)


def _pin(one: Range, committed: Committed | None) -> Iterator[Line]:
    if committed is None or committed.pin is None:
        return
    pin, age = committed.pin, None
    if pin.timestamp is not None and pin.timestamp >= 0:
        age = max(0, time.time_ns() // 1_000_000 - pin.timestamp)
    values = line_values("pin", one, "topic", "partition")
    values |= attributes_of(committed, "last_stable_offset", "end_offset")
    values |= attributes_of(pin, "producer_id", "first_offset", "timestamp") | {"age_ms": age}
    since = "" if age is None else f", by its first batch's time for {age // 1000} s"
    words = (
        f"    the last stable offset is {committed.last_stable_offset} of {committed.end_offset}: producer "
        f"{pin.producer_id} has had a transaction open since offset {pin.first_offset}{since}"
    )
    yield Line(values, words)


def _splits(splits: Iterable[tuple[int, Split]]) -> Iterator[Line]:
    for number, split in splits:
        num_bytes, path = num_bytes_of(split), split.segment.file.path
        values = {"type": "split", "task": number}
        values |= attributes_of(split, "topic", "partition", "start", "end") | {"path": path}
        values |= attributes_of(split, "position", "end_position")
        values |= {"num_bytes": num_bytes, "num_void": len(split.excluded)}
        end = "the end" if split.end is None else f"{split.end}"
        words = f"    task {number}: offsets {split.start} to {end}, {num_bytes} bytes of {path}"
        yield Line(values, words)


def _left_out(found: Iterable[Finding]) -> Iterator[Line]:
    """Yield lines for what is not read; segments with the same reason share a line."""
    for _key, same in groupby(found, lambda one: (one.topic, one.partition, one.detail)):
        yield left_out_line(list(same))


def _summary(made: Plan, query: Query) -> Line:
    num_splits = sum(map(len, made.tasks))
    left_out = sum(one.num_bytes for one in made.of(*LEFT_OUT_KINDS))
    values = {"type": "plan", "num_tasks": len(made.tasks), "num_splits": num_splits}
    values |= {"num_bytes": made.num_bytes, "num_bytes_left_out": left_out, "isolation": query.isolation}
    words = (
        f"{counted(len(made.tasks), 'task')}, {counted(num_splits, 'split')}, {made.num_bytes} bytes "
        f"to read, {left_out} bytes not read, at {query.isolation}"
    )
    return Line(values, words)
