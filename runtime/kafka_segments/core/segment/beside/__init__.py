"""The files beside a segment: indexes, producer snapshots, leader epochs."""
