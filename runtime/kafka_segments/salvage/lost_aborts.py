"""Aborted transactions whose markers are lost, without which consumers take their records for committed.

The log cleaner keeps a marker as long as there are records of its transaction.
"""

from __future__ import annotations

from collections.abc import Iterator

from kafka_segments.core.segment.index_files import AbortedTxn, read_transaction_index
from kafka_segments.errors import NotingFaults
from kafka_segments.log.opening import open_file
from kafka_segments.salvage.comparison import Outvoted
from kafka_segments.salvage.ledger import Ledger
from kafka_segments.salvage.source_files import SourceFile, SourceFiles
from kafka_segments.salvage.survey import heads_in

__all__ = ["without_markers"]


def without_markers(ledger: Ledger, files: SourceFiles, num_copies: int) -> dict[Outvoted, str]:
    """Return the batches of transactions that a `.txnindex` names, and whose markers no copy has; and why.

    Raises:
        ReadError: a file cannot be read any more.
    """
    found: dict[Outvoted, str] = {}
    for file in files:
        for one in _aborted_in(file, files):
            arounds = [ledger.around(copy, one.last_offset, one.last_offset)[0] for copy in range(num_copies)]
            if any(before is not None and before.last >= one.last_offset for before in arounds):
                continue
            why = (
                f"its transaction was aborted (.txnindex), and its marker at offset {one.last_offset} is lost"
            )
            batches = [each for copy in range(num_copies) for each in _batches_of(one, ledger, files, copy)]
            found |= dict.fromkeys(batches, why)
            if batches:
                file.losses.append((one.last_offset, one.last_offset))
    return found


def _aborted_in(file: SourceFile, files: SourceFiles) -> Iterator[AbortedTxn]:
    """Yield what the transaction index of a file says of markers that should be in it."""
    beside = file.segment.beside.get("txnindex")
    if beside is None or (file.whole_reason and not file.is_unopened):
        return
    last = -1 if file.last_offset is None else file.last_offset
    end = max(last + 1, file.refused_end, file.segment.end_offset or 0)
    with NotingFaults():
        entries = read_transaction_index(open_file(files.places, beside))
        yield from (one for one in entries if file.segment.base_offset <= one.last_offset < end)


def _batches_of(one: AbortedTxn, ledger: Ledger, files: SourceFiles, copy: int) -> Iterator[Outvoted]:
    for stretch in ledger.stretches(copy):
        if stretch.last < one.first_offset or stretch.first > one.last_offset:
            continue
        for head in heads_in(files.source(stretch.file), stretch.position, stretch.end_position):
            first = head.first_offset
            is_inside = first is not None and one.first_offset <= first <= one.last_offset
            if first is not None and is_inside and head.producer_id == one.producer_id:
                yield stretch.file, first, head.last_offset
