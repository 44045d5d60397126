"""Report of a run as OpenMetrics text, which Prometheus' text parsers read, too.

Strategy: gauges alone, without timestamps: node_exporter's textfile collector refuses timestamps, and knows
the types of the older text format only. All are of the last run; `# EOF` ends the text (OpenMetrics 1.0).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict

from kafka_segments.ingest.reports.run_report import RunReport
from kafka_segments.query.table_words import COUNTS

__all__ = ["to_open_metrics"]

_PREFIX = "kafka_segments_ingest"
_Samples = Iterable[tuple[Mapping[str, object], float | int]]


def to_open_metrics(report: RunReport) -> bytes:
    """Return a report as OpenMetrics text; each sample has the label `destination`."""
    lines = []
    for name, words, samples in _families(report):
        full = f"{_PREFIX}_{name}"
        unit = next((unit for unit in ("seconds", "bytes") if name.endswith(f"_{unit}")), None)
        found = [f"{full}{{{_labels(report, labels)}}} {value}" for labels, value in samples]
        if found:
            units = [] if unit is None else [f"# UNIT {full} {unit}"]
            lines += [f"# TYPE {full} gauge", *units, f"# HELP {full} {words}", *found]
    return "\n".join([*lines, "# EOF", ""]).encode("utf-8", "backslashreplace")


def _labels(report: RunReport, more: Mapping[str, object]) -> str:
    labels: dict[str, object] = {"destination": report.destination, **more}
    return ",".join(f'{name}="{_escaped(str(value))}"' for name, value in labels.items())


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace("\n", "\\n").replace('"', '\\"')


def _families(report: RunReport) -> Iterator[tuple[str, str, _Samples]]:
    """Names, help and samples."""
    yield "exit_status", "Exit status of the last run.", [({}, report.status)]
    if report.error is not None:
        yield "error", "Class of the error that ended the last run.", [({"class": report.error}, 1)]
    yield "start_timestamp_seconds", "When the last run began.", [({}, report.started_ms / 1000)]
    yield "end_timestamp_seconds", "When the last run ended.", [({}, report.ended_ms / 1000)]
    yield "run", "Number of the newest run of the table.", [({}, report.run)]
    committed = [] if report.committed_ms is None else [report.committed_ms / 1000]
    words = "When the newest run of the table was committed."
    yield "commit_timestamp_seconds", words, [({}, seconds) for seconds in committed]
    phases = asdict(report.seconds).items()
    yield "phase_seconds", "Duration of each phase of the last run.", [({"phase": n}, s) for n, s in phases]
    yield "tasks", "Tasks of the last run.", [({}, report.num_tasks)]
    yield "offsets", "Offsets that the last run processed.", [({"kind": n}, report.total(n)) for n in COUNTS]
    yield "read_bytes", "Bytes of sound batches that were read.", [({}, report.total("num_bytes"))]
    yield "written_bytes", "Bytes of files that were written.", [({}, report.total_beside("bytes_out"))]
    yield "files", "Files that were written.", [({}, report.num_files)]
    yield "crc_failures", "Batches with a wrong checksum.", [({}, report.total("crc_failures"))]
    yield "damaged_places", "Places that could not be read.", [({}, report.total_beside("damaged_places"))]
    words = "Timestamps that the table's type cannot hold."
    yield "timestamps_beyond", words, [({}, report.total_beside("timestamps_beyond"))]
    yield "store_requests", "Requests to stores, including repeated ones.", [({}, report.requests.requests)]
    yield "store_retries", "Repeated requests to stores.", [({}, report.requests.retries)]
    if (one := report.slowest_split) is not None:
        where = {"topic": one.topic, "partition": one.partition}
        yield "slowest_split_seconds", "Duration of the slowest split.", [(where, one.seconds)]
    yield from _of_partitions(report)


def _of_partitions(report: RunReport) -> Iterator[tuple[str, str, _Samples]]:
    where = [
        ({"topic": one.account.topic, "partition": one.account.partition}, one) for one in report.partitions
    ]
    ends = [(labels, one.account.end_offset) for labels, one in where]
    yield "partition_next_offset", "Offset at which the next run begins.", ends
    lags = [(labels, one.lag) for labels, one in where if one.lag is not None]
    yield "partition_lag", "Offsets that can be read but are not in the table yet.", lags
    pins = [
        ({**labels, "producer_id": one.open_transaction.producer_id}, one.open_transaction)
        for labels, one in where
        if one.open_transaction is not None
    ]
    firsts = [(labels, one.first_offset) for labels, one in pins]
    yield "open_transaction_first_offset", "First offset of the transaction that holds runs back.", firsts
    ages = [(labels, one.age_seconds) for labels, one in pins if one.age_seconds is not None]
    yield "open_transaction_age_seconds", "Age of that transaction, since its first batch.", ages
