"""The pictures of docs/webide.md, taken in the real IDE: `python -m tests.webide.pictures`."""

from __future__ import annotations

import io
from contextlib import ExitStack

from PIL import Image
from tests.chromium import started_browser
from tests.webide.web_ide import ROOT, WebIde, need_ide, new_page, opened, served

PICTURES = ROOT / "docs" / "pictures"
BUNDLE = ROOT / "generated" / "webide"
MAX_LEN = 150_000


def main() -> None:
    """Take the pictures anew."""
    PICTURES.mkdir(exist_ok=True)
    with ExitStack() as stack:
        address = stack.enter_context(served(need_ide()))
        ide = WebIde(stack.enter_context(new_page(stack.enter_context(started_browser()))), address)
        ide.upload(
            [path for path in sorted(BUNDLE.iterdir()) if path.name not in ("README.md", "upload-order.txt")]
        )
        opened(ide, "plain.log")
        record = ("entries", 0, "body", "content", "records", 3)
        ide.expand(*record, "body")
        ide.word(*record, "body", "key").click()
        ide.node("entries", 0, "body", "content", "records").evaluate("node => node.scrollIntoView()")
        save(ide, "webide")
        opened(ide, "damaged.log")
        ide.fold()
        ide.expand("entries")
        ide.word("entries", 5).click()
        ide.node("entries").evaluate("node => node.scrollIntoView()")
        save(ide, "webide-damaged")


def save(ide: WebIde, name: str) -> None:
    """Save the page in few colours, which are all that it has."""
    picture = Image.open(io.BytesIO(ide.page.screenshot()))
    path = PICTURES / f"{name}.png"
    picture.convert("RGB").quantize(64).save(path, optimize=True)
    assert path.stat().st_size < MAX_LEN, f"{path} has {path.stat().st_size} bytes"


if __name__ == "__main__":
    main()
