"""Parts of ``codegen.py``: finding Node, driving the Kaitai compiler. Plain standard library, any Python >= 3.11."""
