"""kubeless#781: index files that are gone or wrong, and what a broker makes of their segments."""

from __future__ import annotations

from tests.incidents.incident import Incident, Scene
from tests.made.sound_batches import sound_batches

GONE, WRONG = "clicks", "searches"
CONFIG = {"internal.segment.bytes": "12000"}
FIRST, SECOND, END = f"{0:020d}", 150, 400


def write(scene: Scene) -> None:
    """Write three segments of each topic."""
    for topic in (GONE, WRONG):
        scene.send(topic, range(END))


def damage(scene: Scene) -> None:
    """Delete the index of a segment with a rotten batch, and let a bit rot in that of a sound one."""
    scene.copy_metadata(scene.data)
    gone, wrong = (scene.data / f"{topic}-0" / f"{FIRST}.index" for topic in (GONE, WRONG))
    gone.unlink()
    log = gone.with_suffix(".log")
    data = bytearray(log.read_bytes())
    data[sound_batches(bytes(data))[4].end - 3] ^= 1
    log.write_bytes(data)
    entries = bytearray(wrong.read_bytes())
    entries[0] ^= 0x80
    wrong.write_bytes(entries)


def suffer(scene: Scene) -> None:
    """Read as a consumer, who meets no error: records are gone, or passed over."""
    assert scene.read(GONE) == [*range(40), *range(SECOND, END)]
    assert scene.read(WRONG) == [*range(10, END)]


INCIDENT = Incident(
    "kubeless-781-corrupt-index", dict.fromkeys((GONE, WRONG), CONFIG), write, damage, suffer, is_clean=True
)
