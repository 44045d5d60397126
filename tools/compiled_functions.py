"""All functions that become machine code, with every choice of options, and the sources of these.

`load_decoder` is called with these factories; tests look for calls of others.
"""

from __future__ import annotations

import ast
import importlib.util
import inspect
import itertools
import sys
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

from kafka_segments.core.segment.columnar import codec_loops, fused_expansion, fused_scan, wrappers
from kafka_segments.core.segment.scan import compiled_search, window_run
from kafka_segments.core.segment.verified import folding_decoder, run_folding
from kafka_segments.search import byte_search
from kafka_segments.write import encoder_inputs, encoder_loops, index_writer
from kafka_segments_generated.columns import (
    kafka_log_segment,
    kafka_log_segment_experimental,
    kafka_message_legacy,
    kafka_record,
    kafka_record_v3,
)

__all__ = ["COMPILER", "FACTORIES", "functions", "sources"]

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
    fused_expansion.expansion_loop,
    folding_decoder.folding_loop,
    run_folding.run_folder,
    window_run.window_loop,
    encoder_loops.batcher,
    encoder_loops.messenger,
    encoder_inputs.check_loop,
    index_writer.index_loop,
    codec_loops.expander,
    compiled_search.finder,
    compiled_search.lines_maker,
)
"""What `load_decoder` is called with."""

COMPILER = tuple(
    f"kafka_segments.core.native.{name}"
    for name in ("checksums", "compiling", "intrinsics", "kernels", "target")
)
"""Modules that make machine code of what the factories return."""


def functions() -> Iterator[tuple[Callable[..., Any], dict[str, bool]]]:
    """Yield each factory with each choice of its options."""
    for factory in FACTORIES:
        names = list(inspect.signature(factory).parameters)
        for chosen in itertools.product((False, True), repeat=len(names)):
            yield factory, dict(zip(names, chosen, strict=True))


def sources() -> list[str]:
    """Name the source files that machine code depends on, such as `kafka_segments/core/native/kernels.py`."""
    found = set(COMPILER)
    for factory in FACTORIES:
        assert isinstance(factory, FunctionType)
        _add_function(factory, found, set())
    return sorted(f"{name.replace('.', '/')}.py" for name in found)


def _add_function(function: FunctionType, modules: set[str], seen: set[FunctionType]) -> None:
    """Add the modules of a function, of those that it calls, and of the values that it uses."""
    from kafka_segments.core.native.keys import global_names  # with llvmlite, which `functions` does without

    if function in seen:
        return
    seen.add(function)
    modules.add(function.__module__)
    names = global_names(function.__code__)
    for name in names & function.__globals__.keys():
        value = function.__globals__[name]
        if isinstance(value, FunctionType):
            _add_function(value, modules, seen)
        elif isinstance(value, ModuleType):
            for attribute in names & vars(value).keys():
                _add_value(value.__name__, attribute, modules)
        else:
            _add_value(function.__module__, name, modules)


def _add_value(module: str, name: str, modules: set[str]) -> None:
    """Add the module in which a name is defined, and those of the names that its value is made of."""
    if module.partition(".")[0] not in _OWN:
        return
    imported, defined = _names(module)
    if name in imported:
        _add_value(*imported[name], modules)
    elif name in defined:
        modules.add(module)
        for part in defined[name] - {name}:
            _add_value(module, part, modules)


_OWN = {"kafka_segments", "kafka_segments_generated"}


@cache
def _names(module: str) -> tuple[dict[str, tuple[str, str]], dict[str, set[str]]]:
    """The names of a module: imported ones with their origin, others with the names in their definition."""
    spec = importlib.util.find_spec(module)
    assert spec is not None and spec.origin is not None
    imported: dict[str, tuple[str, str]] = {}
    defined: dict[str, set[str]] = {}
    for node in ast.parse(Path(spec.origin).read_text(encoding="utf-8")).body:
        if isinstance(node, ast.ImportFrom):
            package = "." * node.level + (node.module or "")
            origin = importlib.util.resolve_name(package, spec.parent) if node.level else package
            for alias in node.names:
                if alias.name == "*":
                    imported |= {name: (origin, name) for name in sys.modules[origin].__all__}
                else:
                    imported[alias.asname or alias.name] = origin, alias.name
        elif isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
            used = {part.id for part in ast.walk(node.value) if isinstance(part, ast.Name)}
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            for part in (each for target in targets for each in ast.walk(target)):
                if isinstance(part, ast.Name):
                    defined[part.id] = used
        elif isinstance(node, ast.ClassDef):
            defined[node.name] = {part.id for part in ast.walk(node) if isinstance(part, ast.Name)}
    return imported, defined
