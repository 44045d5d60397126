"""What generated Construct modules stand on; `codegen.py` copies it beside them. No format is known here."""
