"""Words about what is skipped in log directories."""

from __future__ import annotations

from kafka_segments.core.formats.file_names import LEFT_ALONE, WHY_LEFT_ALONE
from kafka_segments.core.io.filesystem import FileEntry
from kafka_segments.log.skipped_files import SkipCollector


def test_each_ending_of_what_is_put_aside_has_words() -> None:
    """One table has both: an ending is added in one place."""
    assert tuple(WHY_LEFT_ALONE) == LEFT_ALONE
    for ending in LEFT_ALONE:
        skipped = SkipCollector()
        skipped.directory(FileEntry(f"/logs/t-0.1{ending}", f"t-0.1{ending}", True, 0, 0, ""), "")
        assert f"({ending})" in str(skipped.found[0])
