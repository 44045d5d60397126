"""Extension of griffe, which reads docstrings for `make docs`: `Example:` holds code, as `Examples:` does."""

from __future__ import annotations

import re
from typing import Any

import griffe


class ExampleSections(griffe.Extension):
    """Griffe takes `Example:` for a remark, in which the prompt of an example is a quotation."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Rename the section of an object's docstring."""
        if obj.docstring is not None:
            obj.docstring.value = re.sub(r"^Example:$", "Examples:", obj.docstring.value, flags=re.MULTILINE)
