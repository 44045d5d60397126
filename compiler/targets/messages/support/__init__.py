"""Code of the messages target that serves every message, copied as it is."""
