"""A decoder or encoder in a process of its own: `python -m tests.bench.worker DECODER PATH LIMIT`.

Says that it is ready, then answers every line on standard input with one pass, as a line of JSON. The Java
and the Rust program speak the same way.
"""

from __future__ import annotations

import dataclasses
import gc
import json
import sys
from pathlib import Path

from tests.bench import encoding, passes


def main() -> None:
    """Serve passes until standard input ends."""
    name, path, limit = sys.argv[1:]
    make = encoding.make if name in encoding.NAMES else passes.make
    one_pass = make(name, Path(path), int(limit))
    one_pass()
    # What is there by now stays: looking through it again and again would only cool the caches.
    gc.collect()
    gc.freeze()
    print(json.dumps({"ready": True}), flush=True)
    for _ in sys.stdin:
        result = dataclasses.asdict(one_pass())
        # Rubbish is taken out between passes, whoever left it.
        gc.collect()
        print(json.dumps(result), flush=True)


if __name__ == "__main__":
    main()
