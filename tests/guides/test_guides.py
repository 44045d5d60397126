"""The guides: README, tutorial, cookbook, concepts and the page on Python do what they show."""

from __future__ import annotations

import os
import sys
from contextlib import closing
from pathlib import Path

import pytest
from tests.guides.guide import ROOT, GuideError, Reader, blocks_of, compare, make_place
from tests.packaging.isolated import SHORT_LIVED

PAGES = ("README.md", "docs/python.md", "docs/cookbook/*.md", "docs/tutorial/*.md")
# Pages that other tests follow: beside a server, in tests/broker and tests/io, or line by line.
FOLLOWED_ELSEWHERE = {"docs/cookbook/broker.md", "docs/cookbook/coming-from.md", "docs/cookbook/s3.md"}
GUIDES = [
    page
    for pattern in PAGES
    for page in sorted(ROOT.glob(pattern))
    if page.relative_to(ROOT).as_posix() not in FOLLOWED_ELSEWHERE
]
# Pages that read recorded bytes for those who have a clone; the wheel is tried with the guides.
CONCEPTS = sorted(ROOT.glob("docs/concepts/*.md"))
# The marker of pages whose blocks need more than Python.
MARKERS = {
    "docs/cookbook/tables.md": pytest.mark.spark,
    "docs/tutorial/2-schema-to-parser.md": pytest.mark.node,
    "docs/tutorial/3-records-to-tables.md": pytest.mark.spark,
    "docs/tutorial/5-format-of-your-own.md": pytest.mark.node,
}


def of(page: Path) -> object:
    """The page as a parameter, with its name and its markers."""
    name = page.relative_to(ROOT).as_posix()
    return pytest.param(page, id=name, marks=[MARKERS[name]] if name in MARKERS else [])


def follow(text: str, place: Path, **variables: str) -> None:
    """Do what a page says."""
    with closing(Reader(place, {**os.environ, **variables})) as reader:
        reader.follow(text)


@pytest.fixture(scope="module")
def clone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A place for all pages: whoever has read one goes on to the next, with what it left below `build/`."""
    return make_place(tmp_path_factory.mktemp("clone"))


@pytest.mark.parametrize("page", [of(page) for page in [*GUIDES, *CONCEPTS]])
def test_a_guide_does_what_it_shows(page: Path, clone: Path) -> None:
    programs = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    follow(page.read_text(encoding="utf-8"), clone, PATH=programs, JDK_JAVA_OPTIONS=SHORT_LIVED)


PAGE = """\
Make a file; save this as `build/words.txt`:

```text
one
two
```

```sh
cd build
export COUNT=2
```

```console
$ cat words.txt   # as it was saved
one
...
$ ls missing   # exit status 2
ls: ...missing...
```

```diff
--- a/words.txt
+++ b/words.txt
@@ -1,2 +1,2 @@
 one
-two
+three
```

```python
words = open("words.txt").read().split()
```

```python
import os
print(words, os.environ["COUNT"])
```

```text
['one', 'three'] 2
```
"""


def test_a_page_is_followed(tmp_path: Path) -> None:
    assert [block.language for block in blocks_of(PAGE)] == [
        "text",
        "sh",
        "console",
        "diff",
        "python",
        "python",
    ]
    follow(PAGE, make_place(tmp_path))


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("one\n...\n$", "two\n...\n$"),
        ("# exit status 2", ""),
        ("['one', 'three'] 2", "['one'] 2"),
        ("-two\n", "-four\n"),
        ("import os\n", "raise SystemExit\n"),
    ],
)
def test_a_page_that_is_wrong_is_found(tmp_path: Path, right: str, wrong: str) -> None:
    assert right in PAGE
    with pytest.raises(GuideError, match="line "):
        follow(PAGE.replace(right, wrong), make_place(tmp_path))


def test_what_is_shown_is_all_that_is_printed() -> None:
    compare(["a  b", "...", "end"], "a b\nc\nd\nend\n", "")
    compare(["a"], "kafka-segments: compiling decoders, which takes seconds\na\n", "")
    compare(["a ... d"], "a b c d\n", "")
    for shown in (["a"], ["a", "b", "c"], ["b"]):
        with pytest.raises(GuideError):
            compare(shown, "a\nb\n", "")
