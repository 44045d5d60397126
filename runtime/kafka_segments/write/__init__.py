"""Rows and Arrow to batches, segments and their indexes.

`api` returns bytes, `writer` writes files. These need the extra `arrow`, and say so when they are imported;
control records and index files also need `construct`. `producer_state` and `plain_indexes` are for programs
without `arrow`, too.
"""
