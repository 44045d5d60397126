"""All functions that become machine code, and the key under which each is looked for: a program, too.

`python -m tests.native.keyed` prints the keys. Nothing is compiled: looking into the cache ends it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kafka_segments.native import engine
from kafka_segments.segment.codec_loops import gzip_loop, lz4_loop, zstd_loop
from kafka_segments.segment.columnar import (
    byte_search,
    folding_decoder,
    fused_inflate,
    fused_scan,
    window_run,
    wrappers,
)
from kafka_segments.segment.scan import compiled_search
from kafka_segments.write import encoder_loops, index_writer, offset_checks
from kafka_segments_generated.columns import (
    kafka_log_segment,
    kafka_log_segment_experimental,
    kafka_message_legacy,
    kafka_record,
    kafka_record_v3,
)

FACTORIES: tuple[Callable[..., Any], ...] = (
    kafka_log_segment.scanner,
    kafka_log_segment.head_encoder,
    kafka_log_segment_experimental.scanner,
    kafka_log_segment_experimental.head_encoder,
    kafka_message_legacy.decoder,
    kafka_message_legacy.encoder,
    kafka_record.decoder,
    kafka_record.encoder,
    kafka_record_v3.decoder,
    kafka_record_v3.encoder,
    wrappers.unwrapper,
    byte_search.pair_finder,
    fused_scan.fused_loop,
    fused_inflate.inflater,
    folding_decoder.folding_loop,
    window_run.window_loop,
    encoder_loops.batcher,
    encoder_loops.messenger,
    index_writer.index_loop,
    offset_checks.check_loop,
    gzip_loop.loop,
    lz4_loop.loop,
    zstd_loop.loop,
    compiled_search.finder,
    compiled_search.lines_maker,
)
"""What `load_decoder` is called with; `test_keys` looks for calls of others."""


class _AskedError(Exception):
    """The key that was asked for."""


def key_of(factory: Callable[..., Any]) -> str:
    """The key of a factory with all of its options on."""

    def asked(_folder: object, key: str, _make: object) -> bytes:
        raise _AskedError(key)

    options = dict.fromkeys(engine.inspect.signature(factory).parameters, True)
    before, engine._kept_or_compiled = engine._kept_or_compiled, asked
    try:
        engine.load_decoder(factory, **options)
    except _AskedError as error:
        return str(error)
    finally:
        engine._kept_or_compiled = before
    raise AssertionError("it is loaded already")


def keys() -> dict[str, str]:
    """The keys of all."""
    return {f"{factory.__module__}.{factory.__name__}": key_of(factory) for factory in FACTORIES}


if __name__ == "__main__":
    for name, key in keys().items():
        print(name, key)
