"""The help of every command: what it does, its exit statuses, and examples that it takes."""

from __future__ import annotations

import argparse
import shlex

import pytest

from kafka_segments.cli.main import _parser, main
from kafka_segments.cli.parsing import _Parser, arguments_of


def commands(parser: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    """The parsers of all commands that do something, by what is typed."""
    found = {}
    for argument in arguments_of(parser):
        if isinstance(argument, argparse._SubParsersAction):
            for one in argument.choices.values():
                found |= commands(one) or {one.prog.removeprefix("kafka-segments "): one}
    return found


COMMANDS = commands(_parser())


def words_of(example: str) -> list[str]:
    """The arguments of an example, as a shell would give them to its last command."""
    words = shlex.split(example.rpartition("kafka-segments ")[2] or example)
    return words[: words.index(">")] if ">" in words else words


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_shows_examples_that_it_takes(command: str) -> None:
    parser = COMMANDS[command]
    assert isinstance(parser, _Parser)
    examples = parser.examples
    assert examples
    for example, meaning in examples:
        words = words_of(example)
        assert " ".join(words[: len(command.split())]) == command
        assert _parser().parse_args(words).run is not None
        assert meaning


@pytest.mark.parametrize("command", COMMANDS)
def test_a_help_fits_its_width_and_has_one_list_of_examples(
    command: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    assert main([*command.split(), "--help"]) == 0
    text, examples = capsys.readouterr().out.split("\nexamples:\n")  # one list
    words = text[text.index("\n\n") :]  # argparse does not divide a group of options in the usage
    assert [line for line in words.splitlines() if len(line) > 80] == []
    typed = examples.splitlines()[::2]
    assert all(line.startswith("  kafka-segments ") or "| kafka-segments " in line for line in typed)
    assert not any(line.startswith("  kafka-segments ") and "| kafka-segments " in line for line in typed)


def test_the_help_of_the_tool_that_dump_is_like_has_lines(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["dump", "--like-kafka", "--help"]) == 1  # as Kafka's tool
    out, err = capsys.readouterr()
    assert out == ""
    lines = err.splitlines()
    assert lines[0].startswith("usage: kafka-segments dump --like-kafka --files ")
    assert sum(line.startswith("  --") for line in lines) == 12 and "\\n" not in err


def test_examples_end_the_help_as_they_are_typed(capsys: pytest.CaptureFixture[str]) -> None:
    assert len(COMMANDS) >= 13
    assert main(["dump", "--help"]) == 0
    text = capsys.readouterr().out
    assert "\nexamples:\n  kafka-segments dump /data1/orders-3\n      all segments of a partition\n" in text
    assert text.endswith("      a segment on another machine\n")
