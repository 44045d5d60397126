"""Cases of the full form of which `salvage`, or the judge, is wrong still."""

from __future__ import annotations

OPEN = {
    1915: "batches in a file with another name are used, which is not said",
    5322: "a .txnindex whose .log is gone is not read",
    6186: "a batch that stands twice is used at one of its places, which is not said",
    8391: "where no batch is left, the noted log start is not taken over",
    9811: "the last batch of some that were moved together stays where it is",
    13925: "an index beside a segment without batches does not speak against another copy's hole",
    14577: "a batch that was moved leaves a hole that looks like the cleaner's",
    15230: "stale batches that continue a log go beyond the recovery point of a clean shutdown",
    18121: "a batch that was moved into a hole of the cleaner's is used there",
    19133: "a stale batch continues the log, and an index names other offsets",
    19525: "a producer id was changed in the only copy, and decides what is aborted",
}
"""Numbers of cases of the full form's seed, and what is wrong."""
