"""Encoding of rows and Arrow data as batches, segments and indexes.

`api` returns bytes, `writer` writes files. These need the extra `arrow`, and say so when they are imported;
control records and index files also need `construct`. `log_writer` and `following` are for programs without
`arrow`, too.
"""
