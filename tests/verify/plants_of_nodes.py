"""Plants in the files of a node, and in whose its partitions are; see `plants`."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

from tests.verify.plants import CLEAN, PARTITIONS, edit, plant, positions

META, BOOTSTRAP, METADATA, MULTI = (
    "meta.properties",
    "bootstrap.checkpoint",
    "__cluster_metadata-0",
    "multi-0",
)
BAD_NAMES = ("99999999999999999999.log", "99999999999999999999.snapshot", "notes.index", "notes.swap")
QUORUM_STATE = f"{METADATA}/quorum-state"
SNAPSHOT = f"{METADATA}/00000000000000000397-0000000001.checkpoint"


def _with_metadata(root: Path, *names: str) -> Path:
    """Add the metadata log, and files at the top of the log directory."""
    shutil.copytree(CLEAN / METADATA, root / "logs" / METADATA)
    for name in names:
        shutil.copy(CLEAN / name, root / "logs" / name)
    return root / "logs"


@plant()
def metadata_log_beside_the_partitions(root: Path) -> None:
    _with_metadata(root, BOOTSTRAP)


@plant(("quorum-state", QUORUM_STATE, None, None, None))
def quorum_state_zeros(root: Path) -> None:
    path = _with_metadata(root) / QUORUM_STATE
    path.write_bytes(bytes(path.stat().st_size))


@plant(("cluster-metadata", SNAPSHOT, 83, None, None))
def newest_snapshot_with_another_byte(root: Path) -> None:
    edit(_with_metadata(root) / SNAPSHOT, 200, b"\xff")


@plant(("cluster-metadata", SNAPSHOT, None, None, None))
def newest_snapshot_without_its_footer(root: Path) -> None:
    path = _with_metadata(root) / SNAPSHOT
    path.write_bytes(path.read_bytes()[: positions(path)[-2]])


@plant(("cluster-metadata", BOOTSTRAP, None, None, None))
def bootstrap_checkpoint_empty(root: Path) -> None:
    (_with_metadata(root) / BOOTSTRAP).write_bytes(b"")


@plant(("topic-id", f"{MULTI}/partition.metadata", None, None, None))
def topic_id_that_the_cluster_does_not_have(root: Path) -> None:
    path = _with_metadata(root) / MULTI / "partition.metadata"
    path.write_text("version: 0\ntopic_id: AAAAAAAAAAAAAAAAAAAAZZ")


@plant(("stray-partition", "multi-5/partition.metadata", None, None, None))
def partition_that_the_cluster_does_not_have(root: Path) -> None:
    logs = _with_metadata(root)
    shutil.copytree(logs / MULTI, logs / "multi-5")


@plant(("directory-id", META, None, None, None))
def directory_that_the_node_has_not_registered(root: Path) -> None:
    path = _with_metadata(root) / META
    path.write_text(re.sub(r"directory.id=.", "directory.id=A", path.read_text()))


@plant(*(("stray-partition", f"{name}/partition.metadata", None, None, None) for name in sorted(PARTITIONS)))
def metadata_log_gone(root: Path) -> None:
    shutil.copy(CLEAN / BOOTSTRAP, root / "logs" / BOOTSTRAP)


@plant(("stray-partition", "orders-3", None, None, None))
def partition_without_files(root: Path) -> None:
    (root / "logs" / "orders-3").mkdir()


@plant(("missing-partition", "orders-3", None, None, None))
def partition_that_is_a_link_to_nowhere(root: Path) -> None:
    (root / "logs" / "orders-3").symlink_to("nowhere")


@plant(("directory-name", "multi-0", None, None, None))
def partition_of_the_checkpoints_that_is_a_link_to_nowhere(root: Path) -> None:
    shutil.rmtree(root / "logs" / MULTI)
    (root / "logs" / MULTI).symlink_to("nowhere")


@plant(("directory-name", "lost+found", None, None, None))
def lost_and_found_with_nothing_in_it(root: Path) -> None:
    (root / "logs" / "lost+found").mkdir()


@plant(("directory-name", "orders-delete", None, None, None))
def directory_that_no_broker_has_put_aside(root: Path) -> None:
    (root / "logs" / "orders-delete").mkdir()


@plant(*(("file-name", f"{MULTI}/{name}", None, None, None) for name in BAD_NAMES))
def files_with_no_offset_in_their_names(root: Path) -> None:
    for name in BAD_NAMES:
        (root / "logs" / MULTI / name).write_bytes(b"")
