"""Report of a conversion: counts, and what was lost."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from typing import Any

__all__ = ["LOSSES", "ConversionReport", "Loss"]

LOSSES = {
    "headers": "headers of records, which the old formats do not have",
    "timestamps": "timestamps of records, which magic 0 does not have",
    "log_append_times": "batches and messages with LogAppendTime, which magic 0 does not have",
    "control_batches": "control batches, without which aborted records look like any others",
    "control_records": "the records in these control batches",
    "transactional_batches": "batches of transactions, which then look like any others",
    "producer_ids": "batches that named their producer: its id and epoch",
    "sequences": "batches whose records had sequence numbers",
    "leader_epochs": "batches that named the leader's epoch",
    "delete_horizons": "batches with a delete horizon",
    "empty_batches": "batches without records, which keep an offset or a producer's state",
    "offset_bounds": "batches whose first or last offset was not that of their first or last record",
    "header_keys": "keys of headers that are not UTF-8: invalid bytes became U+FFFD, as in Kafka's cleaner",
    "reserved_bits": "batches with bits in their attributes that have no meaning, to or from magic 3",
    "long_varints": "varints that were longer than needed, to or from magic 3",
}
"""Kinds of loss, and what is counted of each."""


@dataclass(slots=True)
class Loss:
    """Number of lost items of one kind, and the offsets of records or batches between which they were.

    Attributes:
        what: a name in `LOSSES`.
        num: number of items as described in `LOSSES`.
        first_offset: the least offset of a loss.
        last_offset: the greatest.
    """

    what: str
    num: int
    first_offset: int
    last_offset: int


@dataclass(slots=True)
class ConversionReport:
    """Counts of a conversion; complete when its last bytes were taken.

    Attributes:
        num_entries: batches, messages and wrappers that were read.
        num_untouched: of those, copied byte for byte.
        num_rewritten: of those, rewritten as more, fewer or other entries.
        num_dropped: of those, not in the output.
        num_damaged: damaged regions, of which sound records were used.
        num_records: records that were rewritten.
        num_skipped: records that were left out at the caller's request.
        num_bytes: bytes written.
        num_records_copied: records in copied entries, as far as these have a count.
        losses: what was lost, by name.
    """

    num_entries: int = 0
    num_untouched: int = 0
    num_rewritten: int = 0
    num_dropped: int = 0
    num_damaged: int = 0
    num_records: int = 0
    num_skipped: int = 0
    num_bytes: int = 0
    num_records_copied: int = 0
    losses: dict[str, Loss] = field(default_factory=dict)

    def lose(self, what: str, num: int, first_offset: int, last_offset: int | None = None) -> None:
        """Count `num` lost items, if any."""
        if num == 0:
            return
        last_offset = first_offset if last_offset is None else last_offset
        loss = self.losses.setdefault(what, Loss(what, 0, first_offset, last_offset))
        loss.num += num
        loss.first_offset = min(loss.first_offset, first_offset)
        loss.last_offset = max(loss.last_offset, last_offset)

    def to_jsonl(self) -> str:
        """Return the report as JSON lines: `{"type":"loss",...}` for each loss, and one for the whole."""
        lines: list[dict[str, Any]] = [{"type": "loss"} | asdict(loss) for loss in self._ordered()]
        counts = asdict(self)
        del counts["losses"]
        lines.append({"type": "conversion"} | counts)
        return "".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines)

    def to_text(self) -> str:
        """Return the report as text for people."""
        lines = [
            f"{self.num_entries} entries read: {self.num_untouched} copied as they were, "
            f"{self.num_rewritten} rewritten, {self.num_dropped} dropped",
            f"records copied: {self.num_records_copied}, rewritten: {self.num_records}"
            + (f", left out: {self.num_skipped}" if self.num_skipped else "")
            + f"; bytes written: {self.num_bytes}",
        ]
        lines += [
            f"lost: {loss.num} {loss.what} ({LOSSES[loss.what]}), "
            f"offsets {loss.first_offset} to {loss.last_offset}"
            for loss in self._ordered()
        ]
        return "\n".join(lines) + "\n"

    def _ordered(self) -> list[Loss]:
        return [self.losses[what] for what in LOSSES if what in self.losses]
