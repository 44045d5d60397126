"""The language matrix is of these schemas and programs."""

from __future__ import annotations

import json

from tests.languages import matrix
from tests.languages.toolchains import LANGUAGES


def test_the_matrix_is_of_these_schemas() -> None:
    found = json.loads(matrix.MATRIX.read_text(encoding="utf-8"))
    assert {name: language["digest"] for name, language in found.items()} == {
        language.name: matrix.digest(language.name) for language in LANGUAGES
    }, "run `make test-languages`, which reads with these languages again"
