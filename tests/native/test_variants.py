"""How many pieces of machine code there can be is known: one for each choice of columns or checks."""

from __future__ import annotations

import inspect
import re
from importlib import import_module
from pathlib import Path

import kafka_segments_generated.columns as generated

ROOT = Path(__file__).resolve().parents[2]


def variants() -> dict[str, int]:
    """Factories of the generated modules, and in how many ways each can be asked for."""
    found = {}
    for path in sorted(Path(generated.__file__).parent.glob("[a-z]*.py")):
        module = import_module(f"{generated.__name__}.{path.stem}")
        for name in ("scanner", "decoder", "encoder", "head_encoder"):
            factory = getattr(module, name, None)
            if factory is not None:
                found[f"{path.stem}.{name}"] = 2 ** len(inspect.signature(factory).parameters)
    return found


def test_the_design_says_how_many_there_are():
    assert variants() == {
        "kafka_log_segment.scanner": 4,
        "kafka_log_segment.head_encoder": 2,
        "kafka_message_legacy.decoder": 64,
        "kafka_message_legacy.encoder": 2,
        "kafka_record.decoder": 128,
        "kafka_record.encoder": 2,
        "kafka_log_segment_experimental.scanner": 4,
        "kafka_log_segment_experimental.head_encoder": 2,
        "kafka_record_v3.decoder": 128,
        "kafka_record_v3.encoder": 2,
    }
    text = " ".join((ROOT / "docs" / "design.md").read_text(encoding="utf-8").split())
    said = r"at most 128 variants of the v2 decoder, 64 of the legacy one, 4 of the scanner and 2 of an "
    said += "encoder, and as many for the experimental magic 3 as for v2"
    assert re.search(said, text)
