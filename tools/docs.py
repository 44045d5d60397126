"""Build the documentation as pages of HTML, in build/docs: `make docs`.

Strategy: pages stay in the repository, with links that work there. They are copied, in the same folders, to
build/docs-source, with what they link to; what is made of the code is added: the API from docstrings, and
below the page of each format its vectors and its schema. MkDocs builds all of it, and a warning is an error.
Nothing is fetched, by the build or by the browser of a reader.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from fnmatch import fnmatch
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "runtime"), str(ROOT / "generated")]

import kafka_segments  # noqa: E402

SOURCE = "docs-source"
SITE = "docs"
ENTRIES = ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")
# Title and names of each page of the API; together these are all that the package exports.
API: dict[str, tuple[str, tuple[str, ...]]] = {
    "reading": (
        "Reading",
        ("open_segment", "Segment", "open_partition", "Partition", "read_table", "scan", "list_partitions"),
    ),
    "values": ("Batches, records, damage", ("Batch", "Record", "Damage", "Padding")),
    "writing": (
        "Writing",
        (
            "open_writer", "open_partition_writer", "write_segment", "SegmentWriter", "Written",
            "encode_records", "iter_encoded", "encode_batch", "encode_empty_batch", "encode_control",
            "predicted_size",
        ),
    ),
    "conversion": ("Conversion", ("up_convert", "down_convert", "filter_batches", "Retention")),
    "errors": ("Errors", ("errors",)),
}  # fmt: skip
# What these functions take and return, and what other modules have for users.
MODULES: dict[str, tuple[str, tuple[str, ...]]] = {
    "results": (
        "Results, and functions of modules",
        (
            "query.scan.PartitionSummary",
            *(
                f"write.convert.{name}"
                for name in ("Conversion", "ConversionReport", "Loss", "convert_magic3")
            ),
            "write.recompression.recompress",
            "polars.scan_segments", "duckdb.relation",
            "spark.take_snapshot", "spark.partition_by_key",
        ),
    ),
    "files": (
        "Stores, and files beside segments",
        ("core.io.filesystems.Places", "core.segment.beside.index_files"),
    ),
}  # fmt: skip
# Fields of values have no docstrings of their own.
OPTIONS = {
    "values": "    options:\n"
    "      {show_if_no_docstring: true, show_signature_annotations: true, show_labels: false}\n"
}
# What each page of the API is for.
INTRODUCTIONS = {
    "reading": "Functions that open segments, partitions and logs, and return their records. "
    "[Python](../docs/python.md) shows them in use.\n",
    "values": "The values that iterating over a segment returns. [JSON Lines](../docs/jsonl.md) have the "
    "same fields, and explain each.\n",
    "writing": "Functions that write records as batches and segments. [Python](../docs/python.md) shows them "
    "in use.\n",
    "conversion": "Functions that convert batches between message formats, and remove records as the log "
    "cleaner does, by these [rules](../docs/conversions.md).\n",
    "errors": "The errors that this package raises, grouped by what you can do about them.\n",
    "results": "What functions of the other pages take and return, and functions of their modules.\n",
    "files": "Opening files in [stores](../docs/stores.md), and reading the files beside segments.\n",
}
FORMATS = "docs/formats/README.md"


def formats_in_order() -> list[str]:
    """The pages of formats, as their list of contents has them: what is read first comes first."""
    text = (ROOT / FORMATS).read_text(encoding="utf-8")
    return [f"docs/formats/{name}" for name in re.findall(r"\]\((\w+\.md)\)", text)]


# The navigation, as a newcomer goes; pages of docs/ that are not named here come last, under More.
NAVIGATION: dict[str, tuple[str, ...]] = {
    "Start": ("README.md", "docs/install.md", "docs/performance.md"),
    "Tutorial": ("docs/tutorial/README.md", "docs/tutorial/*.md"),
    "Cookbook": tuple(
        f"docs/cookbook/{page}.md"
        for page in ("README", "records", "tables", "pandas", "logs", "s3", "broker", "coming-from", "*")
    ),
    "Inspect": (
        "docs/command-line.md",
        "docs/find.md",
        "docs/jsonl.md",
        "docs/dump-like-kafka.md",
        "docs/report.md",
        "docs/sizes.md",
        "docs/sizes-reference.md",
        "docs/webide.md",
        "generated/webide/README.md",
    ),
    "Repair": (
        "docs/operations/broken-disk.md",
        "docs/verify.md",
        "docs/verify-reference.md",
        "docs/salvage.md",
        "docs/damaged-directories.md",
        "docs/operations/incidents/README.md",
        "docs/operations/incidents/*.md",
    ),
    "Python": (
        "docs/python.md",
        "docs/polars-duckdb.md",
        "docs/columns.md",
        "docs/conversions.md",
        "docs/stores.md",
    ),
    "Spark": ("docs/spark.md", "docs/spark-reference.md", "docs/streaming.md", "docs/writing.md"),
    "Ingest": (
        "docs/ingest.md",
        "docs/ingest-reference.md",
        "docs/operations/pipeline.md",
        "docs/operations/cluster.md",
        "docs/pipeline.md",
    ),
    "Concepts": (
        "docs/concepts/README.md",
        "docs/concepts/history.md",
        "docs/concepts/layout.md",
        "docs/concepts/offsets.md",
        "docs/concepts/timestamps.md",
        "docs/concepts/sequence-numbers.md",
        "docs/concepts/transactions.md",
        "docs/concepts/compaction.md",
        "docs/concepts/compression.md",
        "docs/concepts/checksums.md",
        "docs/concepts/requirements.md",
        "docs/concepts/errata.md",
        "docs/concepts/*.md",
    ),
    "Formats": (
        FORMATS,
        "docs/own-formats.md",
        "docs/languages.md",
        "docs/programs/README.md",
        "docs/programs/*.md",
        *formats_in_order(),
        "docs/formats/*.md",
    ),
    "API": tuple(f"api/{page}.md" for page in (*API, *MODULES)),
    "Inside": (
        "docs/architecture.md",
        "docs/design.md",
        "CONTRIBUTING.md",
        "docs/decisions/README.md",
        "docs/decisions/*.md",
        "docs/upstream/*.md",
        "docs/package.md",
        "tools/*.md",
        "compiler/targets/columns/README.md",
        "tests/*.md",
        "tests/*/*.md",
        "locks/*.md",
        "CHANGELOG.md",
    ),
    "More": ("docs/*.md", "*/*.md", "*/*/*.md"),
}
# Names in the navigation where the first heading of a page is like that of another one.
TITLES = {
    "docs/package.md": "What a package index shows",
    "docs/upstream/spark-python-filter-pushdown.md": "A fault of Spark's",
    "generated/webide/README.md": "The Web IDE step by step",
}
# How much a page counts in the search, by the first pattern that fits; `*` stands for folders, too.
BOOSTS = {
    "docs/decisions/*": 0.2,
    "docs/upstream/*": 0.2,
    "docs/package.md": 0.2,
    "docs/architecture.md": 0.5,
    "docs/design.md": 0.5,
    "docs/formats/*": 1.0,
    "docs/programs/*": 1.0,
    "docs/*-reference.md": 1.0,
    "docs/conversions.md": 1.0,
    "docs/*": 2.0,
    "README.md": 2.0,
    "generated/webide/*": 2.0,
    "api/*": 1.0,
    "*": 0.2,
}
_LINK = re.compile(r"\]\((?!https?:|mailto:|#)([^)#\s]+)")


def main(build: Path = ROOT / "build") -> int:
    """Build the pages; the status is 1 where MkDocs warned of something."""
    source = build / SOURCE
    shutil.rmtree(source, ignore_errors=True)
    copy_pages(source)
    shutil.copyfile(ROOT / "tools" / "docs.css", source / "wide.css")
    write_api(source)
    for page in sorted((source / "docs" / "formats").glob("*.md")):
        add_schema(page)
    config = build / "mkdocs.yml"
    config.write_text(configuration(source), encoding="utf-8")  # JSON's lists are YAML's, too
    # With --quiet, warnings would neither be shown nor counted.
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--clean", "-f", str(config)]
    # Material's announcement of its successor is left out, which would stand between messages.
    env = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(command, cwd=build, check=False, env=env, stderr=subprocess.PIPE, text=True)
    print(
        "".join(line for line in done.stderr.splitlines(keepends=True) if not line.startswith("INFO")), end=""
    )
    if done.returncode == 0:
        pages = len(list((build / SITE).rglob("*.html")))
        print(f"{pages} pages: open {build / SITE / 'index.html'}")
        print(f"The search needs a server: {sys.executable} -m http.server -d {build / SITE}")
    return min(done.returncode, 1)


def copy_pages(source: Path) -> None:
    """Copy the pages, what they link to, what those link to, and so on."""
    wanted = [*(ROOT / name for name in ENTRIES), *sorted((ROOT / "docs").rglob("*.md"))]
    for page in wanted:
        copied = source / page.relative_to(ROOT)
        copied.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(page, copied)
        if page.suffix == ".md":
            # MkDocs takes a page's title from its first line; generated pages begin with what made them.
            text = re.sub(r"\A<!--.*?-->\n", "", page.read_text(encoding="utf-8"))
            copied.write_text(front_matter(page.relative_to(ROOT).as_posix()) + text, encoding="utf-8")
            wanted += [linked for linked in _links(page) if linked not in wanted]


def front_matter(page: str) -> str:
    """What goes before a page: its weight in the search."""
    boost = next(boost for pattern, boost in BOOSTS.items() if fnmatch(page, pattern))
    return f"---\nsearch: {{boost: {boost}}}\n---\n"


def _links(page: Path) -> Iterator[Path]:
    for link in _LINK.findall(page.read_text(encoding="utf-8")):
        target = (page.parent / link).resolve()
        if target.is_file() and target.is_relative_to(ROOT):
            yield target


def write_api(source: Path) -> None:
    """Write the pages of the API, which mkdocstrings fills."""
    named = {name for _, names in API.values() for name in names}
    exported = set(kafka_segments.__all__) - {"__version__"}
    if named != exported:
        raise SystemExit(
            f"tools/docs.py: API and kafka_segments.__all__ differ in {sorted(named ^ exported)}"
        )
    folder = source / "api"
    folder.mkdir(parents=True)
    for page, (title, names) in (API | MODULES).items():
        parts = [f"# {title}\n", INTRODUCTIONS.get(page, "")]
        parts += [f"::: kafka_segments.{name}\n{OPTIONS.get(page, '')}" for name in names]
        text = front_matter(f"api/{page}.md") + "\n".join(parts)
        (folder / f"{page}.md").write_text(text, encoding="utf-8")


def add_schema(page: Path) -> None:
    """Add the vectors, the schema and the names of what is generated of it to the page of its format."""
    schema = ROOT / "schemas" / f"{page.stem}.ksy"
    if schema.is_file():
        generated = "kafka_segments_generated"
        modules = sorted((ROOT / "generated" / generated).glob(f"*/{page.stem}.py"))
        names = ", ".join(f"`{generated}.{path.parent.name}.{path.stem}`" for path in modules)
        text = schema.read_text(encoding="utf-8")
        with page.open("a", encoding="utf-8") as file:
            file.write("\n## Vectors\n\n" + "\n".join(vectors(page.stem)) + "\n")
            file.write(f"\n## The schema\n\n`schemas/{schema.name}`, from which {names} are generated:\n\n")
            file.write(f"```yaml\n{text}```\n")


def vectors(stem: str) -> Iterator[str]:
    """The table of a format's vectors, a line each."""
    yield f"A vector is a file `.bin` in `tests/vectors/{stem}`; a `.toml` has its origin and expectation."
    yield ""
    yield "| vector | bytes | what it is |"
    yield "|---|---|---|"
    for path in sorted((ROOT / "tests" / "vectors" / stem).glob("*.toml")):
        about = tomllib.loads(path.read_text(encoding="utf-8"))["about"].replace("|", "\\|")
        yield f"| `{path.stem}` | {path.with_suffix('.bin').stat().st_size} | {about} |"


def configuration(source: Path) -> str:
    """The configuration: that of mkdocs.yml, the folders, and the navigation."""
    python = {
        "paths": [str(ROOT / "runtime"), str(ROOT / "generated")],
        "options": {"extensions": [f"{ROOT / 'tools' / 'docs_examples.py'}:ExampleSections"]},
    }
    lines = [
        f"INHERIT: {ROOT / 'mkdocs.yml'}",
        f"docs_dir: {SOURCE}",
        f"site_dir: {SITE}",
        f"plugins: {json.dumps({'mkdocstrings': {'handlers': {'python': python}}})}",
        "nav:",
    ]
    taken: set[str] = set()
    for group, patterns in NAVIGATION.items():
        found = [one for pattern in patterns for one in sorted(source.glob(pattern)) if one.is_file()]
        pages = [one.relative_to(source).as_posix() for one in found]
        pages = [page for page in dict.fromkeys(pages) if page not in taken]
        taken.update(pages)
        if pages:
            titles = {page: f"{TITLES[page]}: {page}" if page in TITLES else page for page in pages}
            lines += [f"  - {group}:", *(f"      - {titles[page]}" for page in pages)]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.exit(main())
