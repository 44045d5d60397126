"""Subcommand `verify`: run all checks on log directories, partitions and segments."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from functools import partial
from itertools import groupby
from typing import Any

from kafka_segments.cli import console, parsing
from kafka_segments.cli.input_check import checked_file, is_single_file
from kafka_segments.cli.jobs import SECONDS_BEFORE, add_progress_option, shown_progress, size_words
from kafka_segments.cli.output import Line, finding_line, print_lines
from kafka_segments.cli.sources import places_of
from kafka_segments.cli.text import counted
from kafka_segments.core.io.filesystems import Places
from kafka_segments.core.io.storage import Source, open_source
from kafka_segments.errors import KafkaFormatError, OptionError, StoreError
from kafka_segments.log.checkpoints import Checkpoints
from kafka_segments.log.discovery import discover
from kafka_segments.log.findings import Finding, copy_words, worst_first
from kafka_segments.log.model import PartitionCopy, StoredSegment
from kafka_segments.log.skipped_files import SkippedFiles
from kafka_segments.query.option_values import size_from
from kafka_segments.query.options import did_you_mean
from kafka_segments.verify.catalogue import CHECKS, GROUPS, chosen_checks
from kafka_segments.verify.node_checks import LogDir
from kafka_segments.verify.partition_checks import VerifyOptions
from kafka_segments.verify.segment_checks import SegmentReading
from kafka_segments.verify.transaction_checks import abort_command
from kafka_segments.verify.verification import VerifySubject, VerifySummary, iter_findings

__all__ = ["add_parser", "run"]

_HANGING = ("lost-marker", "open-transaction")
_to_bytes = size_from(1)


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `verify` to the command's parsers."""
    parser = subparsers.add_parser(
        "verify",
        help="run all checks on log directories",
        description="Check batches, records, segments, indexes, checkpoints, leader epochs, transactions, "
        "producers and names, and compare copies with each other. Normal behaviour of brokers is not "
        "reported: what the log cleaner removes, what a killed broker leaves, and, with --live, an "
        "unfinished last batch. Nothing is written.",
        epilog="Exit status: 0 clean, 1 findings, 2 wrong usage or a path that cannot be opened (the rest "
        "was verified), 3 the output could not be written. docs/verify-reference.md lists the checks.",
    )
    parsing.add_sources(parser, "; - reads a segment from standard input")
    _add_choice(parser)
    _add_circumstances(parser)
    parsing.add_count(parser, "--jobs", "threads", default=1)
    parsing.add_named_options(parser)
    parsing.add_format(parser)
    add_progress_option(parser)
    parsing.add_examples(
        parser,
        ("verify /var/lib/kafka/data", "all checks"),
        (
            "verify --topic orders --partition 3 /disk1/kafka /disk2/kafka",
            "a partition, with its copies compared",
        ),
        ("verify --checks bytes,indexes --format jsonl logs", "two groups of checks, as JSON lines"),
        ("verify --live --skip contents /var/lib/kafka/data", "while a broker runs, without reading records"),
    )
    parser.set_defaults(run=run)


def _add_circumstances(parser: argparse.ArgumentParser) -> None:
    """Add the options that say what is known of the cluster."""
    parsing.add_flag(parser, "--live", "a broker is running: do not report what it is still writing")
    parsing.add_no_crc(parser, "do not compute checksums (check crc)")
    parser.add_argument(
        "--max-batch-bytes",
        metavar="BYTES",
        help="the largest batch allowed (max.message.bytes), for example 1m",
    )
    parser.add_argument(
        "--max-transaction-ms",
        type=int,
        default=900_000,
        metavar="MS",
        help="the longest time for a transaction to be open (transaction.max.timeout.ms); default: 900000",
    )
    parser.add_argument("--cluster-id", metavar="ID", help="the cluster.id that meta.properties must have")
    parser.add_argument("--node-id", type=int, metavar="N", help="the node.id that meta.properties must have")
    parser.add_argument(
        "--bootstrap-server",
        default="localhost:9092",
        metavar="HOST:PORT",
        help="used in the kafka-transactions.sh commands that are printed; default: localhost:9092",
    )


def _add_choice(parser: argparse.ArgumentParser) -> None:
    """Add the options that choose partitions and checks."""
    parser.add_argument("--topic", action="append", help="verify only this topic; may be repeated")
    parser.add_argument(
        "--partition",
        type=int,
        action="append",
        metavar="N",
        help="verify only this partition; may be repeated",
    )
    parser.add_argument(
        "--checks",
        action="append",
        default=[],
        metavar="ID,...",
        help=f"checks, or groups of checks ({', '.join(GROUPS)}), to run; default: all",
    )
    parser.add_argument(
        "--skip", action="append", default=[], metavar="ID,...", help="checks or groups to leave out"
    )


def run(arguments: argparse.Namespace) -> int:
    """Run the subcommand; return the exit status."""
    options = _options(arguments)
    places = places_of(arguments, keep_cache=False)
    summary = VerifySummary()
    summary.notes += _not_checked(options)
    inputs: list[Source] = []
    with console.waiting("listing segments"):
        subjects = list(_subjects(arguments, places, summary, inputs))
    with console.printing():  # if it ends early, the rest was not verified, and there is no summary
        with ExitStack() as stack:
            for source in inputs:
                stack.callback(source.close)
            progress = shown_progress(arguments, "verification", wait=SECONDS_BEFORE)
            show = _Shown(stack.enter_context(progress), sum(one.num_bytes for one in subjects))
            for subject in subjects:
                reading = SegmentReading(places, partial(_open_single, inputs) if subject.is_single else None)
                found = iter_findings(
                    subject, options, reading, summary, num_jobs=arguments.jobs, progress=show.add
                )
                print_lines(_lines(found, arguments), arguments.format)
            print_lines([Line(_summary_values(summary, options))], arguments.format)
        for error in summary.errors:
            console.say(str(error))
        _say_summary(summary, options)
    if summary.errors:
        return console.NOT_OPENED
    return console.FINDINGS if summary.num_findings else console.CLEAN


def _options(arguments: argparse.Namespace) -> VerifyOptions:
    checks = chosen_checks(_names(arguments.checks), _names(arguments.skip))
    if not arguments.check_crc:
        checks -= {"crc"}
    limit = arguments.max_batch_bytes
    return VerifyOptions(
        checks,
        None if limit is None else _to_bytes("--max-batch-bytes", limit),
        arguments.max_transaction_ms,
        arguments.live,
        arguments.check_crc,
        arguments.cluster_id,
        arguments.node_id,
    )


def _not_checked(options: VerifyOptions) -> Iterator[str]:
    """Yield the checks that need an option that was not given."""
    given = {"batch-size": options.max_batch_bytes, "node-id": options.node_id}
    for check, option in (("batch-size", "--max-batch-bytes"), ("node-id", "--node-id")):
        if check in options.checks and given[check] is None:
            yield f"{check}: it needs {option}"


def _names(given: Sequence[str]) -> list[str]:
    return [name for one in given for name in one.split(",") if name]


class _Shown:
    """Progress of all subjects together."""

    def __init__(self, show: Callable[[int, int], None], total: int) -> None:
        self._show, self._total, self._done = show, total, 0

    def add(self, num_bytes: int) -> None:
        self._done += num_bytes
        self._show(min(self._done, self._total), self._total)


def _subjects(
    arguments: argparse.Namespace, places: Places, summary: VerifySummary, inputs: list[Source]
) -> Iterator[VerifySubject]:
    """Yield what is verified: the partitions at all paths together, and each single file."""
    single = [path for path in arguments.sources if path == "-" or is_single_file(path)]
    others = [path for path in arguments.sources if path not in single]
    copies: list[PartitionCopy] = []
    skipped: list[SkippedFiles] = []
    chosen = _ChosenPartitions(arguments.topic, arguments.partition)
    checkpoints = Checkpoints(places, logs_unused=False)
    for path in others:
        found: list[SkippedFiles] = []
        try:
            copies += discover(
                places, [path], None, chosen.has, found, prefer_names=True, checkpoints=checkpoints
            )
        except StoreError:
            raise
        except KafkaFormatError as error:
            summary.errors.append(error)
        skipped += found
        summary.errors += [one.error for one in found if one.error is not None]
    summary.errors += chosen.absent()
    by_path = {copy.path: copy for copy in copies}
    ordered = sorted(by_path.values(), key=lambda one: (one.topic, one.partition, one.path))
    if ordered or skipped:
        is_whole = not arguments.topic and not arguments.partition
        yield VerifySubject(ordered, skipped, is_whole)
    for path in single:
        try:
            yield VerifySubject([_copy_of(path, inputs)], is_single=True)
        except KafkaFormatError as error:
            summary.errors.append(error)


class _ChosenPartitions:
    """Choice by `--topic` and `--partition`, with a note of what it was asked about."""

    def __init__(self, topics: Sequence[str] | None, partitions: Sequence[int] | None) -> None:
        self._topics, self._partitions = set(topics or ()), set(partitions or ())
        self._seen_topics, self._seen_partitions = set[str](), set[int]()

    def has(self, topic: str, partition: int | None) -> bool:
        """Return whether a partition is chosen; of None, whether any of the topic may be."""
        self._seen_topics.add(topic)
        if self._topics and topic not in self._topics:
            return False
        if partition is None:
            return True
        self._seen_partitions.add(partition)
        return not self._partitions or partition in self._partitions

    def absent(self) -> Iterator[OptionError]:
        """Yield an error for each topic and partition that was chosen but does not exist."""
        for topic in sorted(self._topics - self._seen_topics):
            known = ", ".join(sorted(self._seen_topics)[:10])
            hint = did_you_mean(topic, self._seen_topics) or f"; there are {known}"
            yield OptionError(f"--topic {topic}: no such topic was found{hint if self._seen_topics else ''}")
        for number in sorted(self._partitions - self._seen_partitions):
            yield OptionError(f"--partition {number}: none of the verified topics has this partition")


def _copy_of(path: str, inputs: list[Source]) -> PartitionCopy:
    """Make a copy of one file, or of standard input, which is opened once and added to `inputs`.

    Raises:
        OptionError: it is not a segment.
        ReadError: it cannot be opened.
    """
    if path == "-" and not inputs:
        inputs.append(open_source(path))
    stored = checked_file(path, inputs[0] if path == "-" else None)
    folder = path if path == "-" else os.path.dirname(os.path.abspath(path))
    return PartitionCopy(folder, "", -1, (stored,))


def _open_single(inputs: Sequence[Source], segment: StoredSegment) -> Source:
    return open_source(inputs[0] if segment.path == "-" else segment.path, only_files=True)


def _lines(found: Iterable[Finding], arguments: argparse.Namespace) -> Iterator[Line]:
    """Yield lines for findings: for programs as they are found, for people by copies."""
    if arguments.format == "jsonl":
        groups: Iterable[tuple[str, Iterable[Finding]]] = [("", found)]
    else:
        groups = _by_copies(found)
    for words, findings in groups:
        if words:
            yield Line(None, words)
        for one in findings:
            command = _command_of(one, arguments)
            yield finding_line(one, command=command)
            if command is not None:
                yield Line(None, f"  to end it: {command}")


def _by_copies(found: Iterable[Finding]) -> Iterator[tuple[str, list[Finding]]]:
    """Yield in a line what a copy has lost, and its findings; no line for what is of no partition."""
    for (topic, partition), group in groupby(found, key=lambda one: (one.topic, one.partition)):
        folder = name = f"{topic}-{partition}"
        copies: dict[str, list[Finding]] = {}
        for one in group:
            parents = one.path or "", os.path.dirname(one.path or "")
            folder = next((each for each in parents if os.path.basename(each) == name), folder)
            copies.setdefault(folder, []).append(one)
        for folder, findings in copies.items():
            yield copy_words(folder, findings) if topic else "", sorted(findings, key=worst_first)


def _command_of(finding: Finding, arguments: argparse.Namespace) -> str | None:
    """What ends the transaction that a finding is about."""
    if finding.check not in _HANGING or finding.first_offset is None or not finding.topic:
        return None
    first = finding.first_offset
    return abort_command(finding.topic, finding.partition, first, arguments.bootstrap_server)


def _summary_values(summary: VerifySummary, options: VerifyOptions) -> dict[str, Any]:
    totals = summary.totals
    return {
        "type": "summary",
        "copies": summary.num_copies,
        "segments": totals.num_segments,
        "batches": totals.num_batches,
        "records": totals.num_records,
        "bytes": totals.num_bytes,
        "findings": dict(sorted(summary.num_findings.items())),
        "log_dirs": [_start_values(one) for one in summary.log_dirs],
        "checks": [check for check in CHECKS if check in options.checks],
        "not_checked": summary.notes,
        "errors": [str(error) for error in summary.errors],
    }


def _start_values(log_dir: LogDir) -> dict[str, Any]:
    lists = {name: sorted(found) for name, found in log_dir.effects.items()}
    return {"path": log_dir.path, "starts": not lists["stops"], **lists, "detail": str(log_dir)}


def _say_summary(summary: VerifySummary, options: VerifyOptions) -> None:
    """Print on standard error what was verified, and what was not."""
    totals, count = summary.totals, sum(summary.num_findings.values())
    for note in summary.notes:
        console.say(f"not checked: {note}")
    left_out = [check for check in CHECKS if check not in options.checks]
    if left_out:
        console.say(f"checks that were not selected: {', '.join(left_out)}")
    for log_dir in summary.log_dirs:
        console.say(str(log_dir))
    console.say(
        f"verified: {counted(summary.num_copies, 'partition')}, {counted(totals.num_segments, 'segment')}, "
        f"{counted(totals.num_batches, 'batch', 'batches')}, {counted(totals.num_records, 'record')}, "
        f"{size_words(totals.num_bytes)}; "
        f"{counted(len(options.checks), 'check')}, {counted(count, 'finding')}"
    )
