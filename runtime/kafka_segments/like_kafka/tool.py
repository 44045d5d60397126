"""The loop of DumpLogSegments over files, its messages and its exit status."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from kafka_segments.core.segment.records.batch_records import ManyRows
from kafka_segments.errors import KafkaFormatError, MissingCodecError, OptionError, OutputError
from kafka_segments.like_kafka.log_lines import dump_log
from kafka_segments.like_kafka.side_files import dump_offset_index, dump_snapshot, dump_transaction_index
from kafka_segments.like_kafka.stored_index import IndexOptions, offset_in_name
from kafka_segments.like_kafka.time_index_lines import TimeIndexErrors, dump_time_index
from kafka_segments.like_kafka.tool_options import REFUSED_DECODER, ToolOptions, parse
from kafka_segments.like_kafka.tool_output import ToolOutput

__all__ = ["KAFKA_VERSION", "run_like_kafka"]

KAFKA_VERSION = "4.3.1"
"""The version whose tool this is like."""

_ENDED = 0  # the exit status of a Java program
_STOPPED = 1  # of one that an exception ends
_SNAPSHOT_NAME = re.compile(r"([+-][0-9]{19}|[0-9]{20}).([+-][0-9]{9}|[0-9]{10})")
_USAGE = """\
usage: kafka-segments dump --like-kafka --files FILE[,FILE...] [OPTION...]

Prints what kafka-dump-log.sh of Kafka 4.3.1 prints on standard output, byte for byte, for its arguments:
  --files FILE[,FILE...]      .log, .checkpoint, .index, .timeindex, .txnindex and .snapshot files; required
  --deep-iteration            print records, too
  --print-data-log            print records with keys and values
  --skip-record-metadata      print only keys and values
  --key-decoder-class NAME    org.apache.kafka.tools.api.StringDecoder, ...IntegerDecoder or ...LongDecoder
  --value-decoder-class NAME  the same for values
  --offsets-decoder           records of __consumer_offsets as JSON; likewise --transaction-log-decoder,
                              --cluster-metadata-decoder, --share-group-state-decoder
  --max-bytes N               read no more than the first N bytes of each log
  --index-sanity-check        for indexes: report whether they pass the check of a starting broker
  --verify-index-only         for indexes: compare them with their log, and print no entries
  --max-message-size N        for indexes: bytes of the log to read for each entry
  --version                   print the version of Kafka

Example: kafka-segments dump --like-kafka --files 00000000000000000000.log --print-data-log
Exit status: as that of the tool, 0, or 1 if it ends with a stack trace (one line here).
"""


@dataclass(slots=True)
class _Findings:
    """What is reported after the last file, by absolute path."""

    index_mismatches: dict[str, dict[int, int]] = field(default_factory=dict)
    time_index: TimeIndexErrors = field(default_factory=TimeIndexErrors)
    not_consecutive: dict[str, dict[int, int]] = field(default_factory=dict)


def run_like_kafka(arguments: Sequence[str], output: ToolOutput, rows: ManyRows) -> int:
    """Print what the tool prints for its arguments; return its exit status.

    Args:
        arguments: the tool's.
        output: standard output and error.
        rows: a faster decoder of records.

    Raises:
        OptionError: an option that is refused here; nothing was printed.
        MissingCodecError: the package of a codec is not installed.
        OutputError: standard output cannot be written.
        BrokenPipeError: the reader of standard output has closed it.
    """
    try:
        options = parse(arguments)
    except OptionError as error:
        output.say(str(error))
        return _STOPPED
    _refuse_decoder(options)
    if not arguments or options.has("help") or not options.has("files", "version"):
        for line in _USAGE.splitlines():
            output.message(line)
        return _STOPPED
    if options.has("version"):
        output.line(KAFKA_VERSION)
        output.flush()
        return _ENDED
    return _dump(options, output, rows)


def _refuse_decoder(options: ToolOptions) -> None:
    if options.has(REFUSED_DECODER):
        raise OptionError(
            f"--{REFUSED_DECODER} is not supported here, since it prints Java objects; use Kafka's own "
            "tool, or dump --format jsonl, which prints keys and values in base64"
        )


def _dump(options: ToolOptions, output: ToolOutput, rows: ManyRows) -> int:
    findings = _Findings()
    try:
        for given in options.files:
            _dump_file(_java_path(given), options, output, findings, rows)
    except (OutputError, MissingCodecError):
        raise
    except KafkaFormatError as error:
        output.flush()
        output.say(f"the output ends here: {error}")
        return _STOPPED
    output.flush()
    for message in _messages(findings):
        output.message(message)
    return _ENDED


def _java_path(given: str) -> str:
    """A path as java.io.File has it: slashes are not repeated, and none is at the end."""
    path = re.sub("/+", "/", given)
    return path if path == "/" else path.removesuffix("/")


def _dump_file(
    path: str, options: ToolOptions, output: ToolOutput, findings: _Findings, rows: ManyRows
) -> None:
    output.line(f"Dumping {path}")
    name = os.path.basename(path)
    suffix = name[name.rindex(".") :] if "." in name else ""
    if suffix in {".log", ".checkpoint"}:
        printed = options.printed
        output.line(_first_line(path, suffix))
        if gaps := dump_log(path, output, printed, rows):
            findings.not_consecutive.setdefault(os.path.abspath(path), {}).update(gaps)
    elif suffix == ".index":
        if mismatches := dump_offset_index(path, output, _index_options(options, options.max_message_size)):
            pairs = dict(sorted(mismatches.items(), reverse=True))
            findings.index_mismatches.setdefault(os.path.abspath(path), {}).update(pairs)
    elif suffix == ".timeindex":
        dump_time_index(path, output, _index_options(options), findings.time_index)
    elif suffix == ".snapshot":
        dump_snapshot(path, output)
    elif suffix == ".txnindex":
        dump_transaction_index(path, output)
    else:
        output.message(f"Ignoring unknown file {path}")


def _index_options(options: ToolOptions, max_message_size: int = 0) -> IndexOptions:
    is_sanity_only, is_verify_only = options.has("index-sanity-check"), options.has("verify-index-only")
    return IndexOptions(is_sanity_only, is_verify_only, max_message_size)


def _first_line(path: str, suffix: str) -> str:
    name = os.path.basename(path)
    if suffix == ".log":
        return f"Log starting offset: {offset_in_name(path)}"
    if name == "bootstrap.checkpoint":
        return "KRaft bootstrap snapshot"
    match = _SNAPSHOT_NAME.match(name)
    if match is None:
        raise OptionError(
            "the name of a snapshot is OFFSET-EPOCH.checkpoint, with 20 and 10 digits", path=path
        )
    return f"Snapshot end offset: {int(match[1])}, epoch: {int(match[2])}"


def _messages(findings: _Findings) -> list[str]:
    """What the tool prints on standard error at its end, of files in the order in which they were given."""
    lines = []
    for path, pairs in findings.index_mismatches.items():
        lines.append(f"Mismatches in :{path}")
        lines += [f"  Index offset: {one}, log offset: {other}" for one, other in pairs.items()]
    lines += findings.time_index.messages()
    for path, pairs in findings.not_consecutive.items():
        lines.append(f"Non-consecutive offsets in {path}")
        lines += [f"  {one} is followed by {other}" for one, other in sorted(pairs.items())]
    return lines
