"""Parts of ``codegen.py``: finding Node, driving the Kaitai compiler. Plain standard library."""
