"""Write the tables of docs/ that are made by the code: options, columns, sizes. Run by `make generate`.

Each stands between two comments in its page. `--check` writes nothing and names the pages that are stale.
"""

from __future__ import annotations

import json
import re
import sys
import tomllib
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from kafka_segments.core.segment.columnar.arrow_schema import OF_PARTITION, SCHEMA, schema_of
from kafka_segments.query.options import IGNORED, OPTIONS, REFUSED, Option
from kafka_segments.spark.schema import VIEW_SCHEMAS
from kafka_segments.spark.writing.write_options import WRITE_OPTIONS
from kafka_segments.verify.catalogue import CHECKS

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from tools import errata_tables, size_tables

RECORD_VIEW = VIEW_SCHEMAS["records"]
DOCS = Path(__file__).resolve().parent.parent / "docs"
WORDS = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
MATRIX = DOCS.parent / "tests" / "languages" / "matrix.json"


def options() -> Iterator[str]:
    """The table of options, a line each."""
    yield "| option | default | what it is | Spark's `kafka` source | also in |"
    yield "|---|---|---|---|---|"
    for option in OPTIONS.values():
        name = f"`{option.name}`" + (f" (also `{option.alias}`)" if option.alias else "")
        default = "" if option.default is None else f"`{option.default}`"
        further = WORDS["options"].get(option.name, {})
        more = further.get("more", "")
        words = option.help + (f". {more[0].upper()}{more[1:]}" if more else "")
        also_in = ", ".join(_also_in(option, further.get("scan")))
        yield f"| {name} | {default} | {words} | {further.get('kafka', '')} | {also_in} |"
    ignored = ", ".join(f"`{name}`" for name in ("kafka.bootstrap.servers", *IGNORED))
    words = "accepted without effect, as there is no broker; one warning for each application names them"
    yield f"| {ignored}, all other `kafka.*` | | {words} | connections, groups | |"
    yield f"| {', '.join(f'`{name}`' for name in REFUSED)} | | refused | refused | |"


def write_options() -> Iterator[str]:
    """The table of options of writing, a line each."""
    yield "| option | default | what it is | Spark's `kafka` sink |"
    yield "|---|---|---|---|"
    for option in WRITE_OPTIONS.values():
        name = f"`{option.name}`" + (f" (also `{option.alias}`)" if option.alias else "")
        default = "" if option.default is None else f"`{option.default}`"
        kafka = WORDS["write_options"].get(option.name, {}).get("kafka", "")
        yield f"| {name} | {default} | {option.help} | {kafka} |"
    words = "accepted without effect, as there is no broker; a warning names them"
    yield f"| all other `kafka.*` | | {words} | producers |"


def _also_in(option: Option, scan: str | None) -> Iterator[str]:
    if option.group in ("query", "file"):
        yield "`plan`"
    if option.group in ("query", "file") or option.name in ("columns", "timestampOverflow"):
        yield "`ingest -o`"
    if option.flag is not None:
        yield f"`ingest {option.flag}`"
    if scan is not None:
        yield f"`scan({scan}=)`"


def columns() -> Iterator[str]:
    """The table of a record's columns, a line each."""
    yield "| column | type | null | what it is | `read_table` | `scan` | `ingest` | Spark source |"
    yield "|---|---|---|---|---|---|---|---|"
    usual, request, directory = "usual", "on request", "directory"
    for name, meaning in WORDS["columns"].items():
        if name in OF_PARTITION.names:
            field, readers = OF_PARTITION.field(name), ("", usual, directory)
        elif name in SCHEMA.names:
            field, readers = SCHEMA.field(name), (usual, usual, usual)
        else:
            field, readers = schema_of([name]).field(0), (request, request, request)
        spark = next(one for one in RECORD_VIEW if one.name.lower() == name.replace("_", ""))
        kind = re.sub(r"item: | not null", "", str(field.type))
        null = "yes" if field.nullable else "no"
        ours = f"| `{name}` | `{kind}` | {null} | {meaning} | {' | '.join(readers)} "
        yield f"{ours}| `{spark.name} {spark.dataType.simpleString()}` |"


def languages() -> Iterator[str]:
    """The table of other languages, a line each: what the last full run of tests/languages has found."""
    yield "| language | compiled with | runtime | segments | entries | records, messages | varints |"
    yield "|---|---|---|---|---|---|---|"
    for found in json.loads(MATRIX.read_text(encoding="utf-8")).values():
        runtime = f"`{found['runtime']}`" if found["runtime"].isupper() else found["runtime"]
        counts = (found["files"] - 1, found["entry"], found["record"] + found["message"], found["varint"])
        numbers = " | ".join(f"{count:,}" for count in counts)
        yield f"| {found['title']} | {found['version']} | {runtime} | {numbers} |"


def checks() -> Iterator[str]:
    """The table of the checks of `verify`, a line each."""
    yield "| id | group | finds | what to do |"
    yield "|---|---|---|---|"
    for row in CHECKS.values():
        yield f"| `{row.id}` | {row.group} | {row.finds} | {row.remedy} |"


TABLES: dict[str, Callable[[], Iterable[str]]] = {
    "spark-reference.md": options,
    "columns.md": columns,
    "writing.md": write_options,
    "sizes-reference.md": size_tables.lines,
    "concepts/errata.md": errata_tables.lines,
    "concepts/history.md": size_tables.history,
    "languages.md": languages,
    "verify-reference.md": checks,
}


def renewed(page: str, text: str) -> str:
    """The text of a page with its table as the code has it."""
    lines = "\n".join(TABLES[page]())
    marks = r"(<!-- made by tools/tables.py -->\n).*?(\n<!-- end -->)"
    found, number = re.subn(marks, lambda match: f"{match[1]}{lines}{match[2]}", text, flags=re.DOTALL)
    if number != 1:
        raise SystemExit(f"docs/{page} has {number} places for its table")
    return found


def main(arguments: list[str], docs: Path = DOCS) -> int:
    """Renew the pages, or with `--check` name those that are stale."""
    stale = []
    for page in TABLES:
        text = (docs / page).read_text(encoding="utf-8")
        if (new := renewed(page, text)) != text:
            stale.append(page)
            if arguments != ["--check"]:
                (docs / page).write_text(new, encoding="utf-8")
    if stale and arguments == ["--check"]:
        print(f"stale: {', '.join(f'docs/{page}' for page in stale)}; run make generate", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
