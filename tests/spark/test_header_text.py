"""Header keys as text: the replacement of bad UTF-8 is the JDK's own, checked against a JDK."""

from __future__ import annotations

import itertools
import os
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_segments.core.formats import java_text

# The ends of every range in which UTF-8 treats bytes differently, and one byte beyond each.
EDGES = bytes.fromhex("00417f808f909fa0bfc0c1c2dfe0e1ecedeeeff0f1f3f4f5f8ff")


@pytest.mark.parametrize(
    ("key", "text"),
    [
        (b"", ""),
        (b"\x80", "\ufffd"),
        (b"caf\xc3", "caf\ufffd"),
        (b"\xed\xa0\x80", "\ufffd"),
        (b"\xed\xa0\x80\xed\xb0\x80", "\ufffd\ufffd"),
        (b"\xc0\xaf", "\ufffd\ufffd"),
        (b"\xff\xfe", "\ufffd\ufffd"),
        (b"a\x00b", "a\x00b"),
        ("\ufeff\U0001f600".encode(), "\ufeff\U0001f600"),
    ],
)
def test_known_keys(key: bytes, text: str) -> None:
    assert java_text(key) == text


@given(st.text())
def test_good_utf8_is_kept(text: str) -> None:
    assert java_text(text.encode()) == text


@pytest.mark.oracle
def test_replacement_is_the_jdks() -> None:
    keys = [bytes(key) for length in range(1, 5) for key in itertools.product(EDGES, repeat=length)]
    # A sequence is also cut off by what follows, not only by the end: five bytes, the last a letter.
    keys += [key + b"A" for key in keys if len(key) == 4]
    program = Path(__file__).with_name("java") / "HeaderText.java"
    java = os.path.join(os.environ["JAVA_HOME"], "bin", "java") if "JAVA_HOME" in os.environ else "java"
    lines = "".join(key.hex() + "\n" for key in keys)
    done = subprocess.run([java, str(program)], input=lines, capture_output=True, text=True, check=True)
    expected = done.stdout.splitlines()
    assert len(expected) == len(keys)
    wrong = [
        (key, text)
        for key, text in zip(keys, expected, strict=True)
        if java_text(key).encode("utf-16-be").hex() != text
    ]
    assert wrong == []
