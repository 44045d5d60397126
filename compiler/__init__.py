"""Parts of ``codegen.py``: the front end that reads schemas, the targets that are made of them, and Node."""
