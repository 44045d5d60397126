"""Subcommand `schemas`: list and export the schemas from which the parsers are generated."""

from __future__ import annotations

import argparse
from collections.abc import Iterator

from kafka_segments.cli import console, parsing
from kafka_segments.cli.exported_files import read_generated_files, write_export
from kafka_segments.cli.kaitai_compiler import LANGUAGES, compile_schemas
from kafka_segments.cli.output import Line, line_values, print_lines
from kafka_segments.cli.webide_export import export_for_webide
from kafka_segments.core.formats.schema_files import SchemaFile, list_schemas, read_schema_files
from kafka_segments.errors import OptionError

__all__ = ["add_parser", "run_export", "run_list"]

_CONSTRUCT = "construct"  # our own modules: what the compiler makes for it is not a valid Python


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `schemas` to the command's parsers."""
    parser = subparsers.add_parser(
        "schemas",
        help="list and export the schemas of Kafka's files, for Kaitai Struct",
        description="List or export the Kaitai Struct schemas (.ksy) of Kafka's files, from which the "
        "parsers of kafka-segments are generated. The schemas are in the public domain (CC0).",
    )
    verbs = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    _add_list(verbs)
    _add_export(verbs)


def _add_list(verbs: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    listing = verbs.add_parser("list", help="list the schemas", description="List the schemas.")
    parsing.add_format(listing)
    parsing.add_examples(listing, ("schemas list", "each schema, and the files that it reads"))
    listing.set_defaults(run=run_list)


def _add_export(verbs: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    export = verbs.add_parser(
        "export",
        help="write the schemas into a directory",
        description="Write the schemas into a directory, as .ksy files. With --language, write the classes "
        "that the Kaitai compiler generates from them, which needs Node and the npm package "
        "kaitai-struct-compiler; construct needs neither: it is our own package of Python modules, which "
        "also build bytes.",
        epilog="Exit status: 0 written, 2 DIR exists and is not empty, or the compiler is missing, 3 DIR "
        "cannot be written.",
    )
    export.add_argument("directory", metavar="DIR", help="a new or empty directory")
    made = export.add_mutually_exclusive_group()
    made.add_argument("--language", choices=tuple(LANGUAGES), metavar="LANGUAGE", help=", ".join(LANGUAGES))
    parsing.add_flag(
        made,
        "--webide",
        "write files for the Kaitai Web IDE: schemas, samples, instructions, and FILEs cut to a size "
        "that a browser can load (exit status 1: damage was found in one)",
    )
    parsing.add_flag(
        made,
        "--gallery",
        "write what the format gallery of Kaitai Struct accepts: the schemas without the keys that "
        "only kafka-segments reads, one file for record batches without imports, and samples",
    )
    export.add_argument(
        "--package",
        default="",
        metavar="NAME",
        help="package or namespace of the classes, with --language csharp, go, java, php or python",
    )
    export.add_argument(
        "files",
        nargs="*",
        metavar="FILE",
        help="with --webide: segments (the files beside them are included), files beside segments, or "
        "directories",
    )
    parsing.add_examples(
        export,
        ("schemas export schemas", "the .ksy files"),
        ("schemas export classes --language java --package org.example", "classes for Java"),
        (
            "schemas export --webide webide /data1/orders-3",
            "the files of a partition, to look into in a browser",
        ),
    )
    export.set_defaults(run=run_export)


def run_list(arguments: argparse.Namespace) -> int:
    """Run `schemas list`; return the exit status."""
    with console.printing():
        print_lines((line for one in list_schemas() for line in _lines(one)), arguments.format)
    return console.CLEAN


def _lines(schema: SchemaFile) -> Iterator[Line]:
    names = "name", "title", "files", "imports", "imported_by"
    yield Line(line_values("schema", schema, *names), f"{schema.name}: {schema.title}")
    if schema.files:
        use = f"reads {', '.join(schema.files)}"
    else:
        use = f"part of {', '.join(schema.imported_by)}" if schema.imported_by else "read from other files"
    imports = f"; imports {', '.join(schema.imports)}" if schema.imports else ""
    yield Line(None, f"    {use}{imports}")


def run_export(arguments: argparse.Namespace) -> int:
    """Run `schemas export`; return the exit status."""
    if arguments.package and arguments.language in (None, _CONSTRUCT):
        raise OptionError("--package is for --language csharp, go, java, php or python")
    if arguments.webide:
        return export_for_webide(arguments.directory, arguments.files)
    if arguments.files:
        raise OptionError("files are exported only with --webide", path=arguments.files[0])
    if arguments.gallery:
        files = read_generated_files("gallery")
    elif arguments.language is None:
        files = read_schema_files()
    elif arguments.language == _CONSTRUCT:
        files = read_generated_files(_CONSTRUCT)
    else:
        with console.waiting("compiling the schemas"):
            files = compile_schemas(arguments.language, arguments.package)
        if known := LANGUAGES[arguments.language]:
            console.say(f"{arguments.language}: {known}; docs/languages.md says more")
    write_export(arguments.directory, files)
    return console.CLEAN
