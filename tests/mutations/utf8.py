"""UTF-8 as Java reads it: what `new String(bytes, UTF_8)` makes of bytes that are none.

Like Python it puts U+FFFD in the place of what cannot begin or go on (the Unicode standard's "maximal
subparts"), but a surrogate that is written as three bytes becomes one, not three, and so do the first two of
them (JDK 17: java.lang.String, decodeUTF8_UTF16 and malformed3).
"""

from __future__ import annotations

import re

SURROGATE = re.compile(rb"\xed[\xa0-\xbf][\x80-\xbf]?")


def java_text(data: bytes) -> str:
    """The text that Java has for these bytes, as the UTF-8 of its string says it."""
    return SURROGATE.sub("\N{REPLACEMENT CHARACTER}".encode(), data).decode("utf-8", "replace")
