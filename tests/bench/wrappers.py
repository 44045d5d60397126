"""How fast wrappers of magic 0 and 1 are read: `python tests/bench/wrappers.py [MESSAGES]`.

Values of 170 bytes. Records per second of CPU time, since a wrapper has one reader and machines are shared;
beside it the slow way, message by message, over a hundredth of them.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path
from random import Random

# Run as a script: the project root holds `tests`.
sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
from tests.made.build import message
from tests.made.codecs import IDS, compress

from kafka_segments import Record, open_segment

LEN_VALUE = 170
NUM_MESSAGES = 200_000
PER_WRAPPER = (10, 100, 5000)


def values(count: int = 5000) -> list[bytes]:
    """Like JSON, with a part that does not compress."""
    random = Random(1)
    texts = [
        b'{"id":%d,"user":"user-%d","page":"/products/%d","session":"%s"}'
        % (at, random.randrange(10_000), random.randrange(100_000), random.randbytes(40).hex().encode())
        for at in range(count)
    ]
    return [text.ljust(LEN_VALUE)[:LEN_VALUE] for text in texts]


def segment(codec: str, magic: int, per_wrapper: int, num_messages: int) -> bytes:
    """Wrappers one behind the other, or plain messages."""
    some, out = values(), []
    for base in range(0, num_messages, per_wrapper):
        first = 0 if magic == 1 and codec != "none" else base
        inner = b"".join(
            message(first + at, some[(base + at) % len(some)], magic=magic) for at in range(per_wrapper)
        )
        if codec != "none":
            payload = compress(codec, inner, magic)
            inner = message(base + per_wrapper - 1, payload, magic=magic, attributes=IDS[codec])
        out.append(inner)
    return b"".join(out)


def by_columns(data: bytes) -> int:
    """Read by compiled decoders; how many records there were."""
    with open_segment(data) as opened:
        return sum(len(batch) for batch in opened.read_batches())


def one_by_one(data: bytes) -> int:
    """Read message by message."""
    with open_segment(data) as opened:
        return sum(isinstance(event, Record) for event in opened.iter_events())


def rate(read: Callable[[bytes], int], data: bytes, rounds: int) -> float:
    """Millions of records a second, the best of some rounds."""
    best = 0.0
    for _ in range(rounds):
        start = time.process_time()
        count = read(data)
        best = max(best, count / (time.process_time() - start))
    return best / 1e6


def main(num_messages: int = NUM_MESSAGES) -> None:
    """Print a line for each sort of wrapper."""
    for codec in ("lz4", "snappy", "gzip", "none"):
        for magic in (0, 1):
            for per_wrapper in PER_WRAPPER if codec != "none" else (1,):
                data = segment(codec, magic, per_wrapper, max(per_wrapper, num_messages))
                few = segment(codec, magic, per_wrapper, max(per_wrapper, num_messages // 100))
                fast, slow = rate(by_columns, data, 4), rate(one_by_one, few, 1)
                name = f"{codec}, magic {magic}, {per_wrapper} a wrapper"
                print(f"{name:32} {fast:7.2f} M records/s  slow way {slow:6.3f}", flush=True)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
