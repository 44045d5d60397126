"""Output of `dump --like-kafka`: that of Kafka's own tool, DumpLogSegments of Kafka 4.3.1, byte for byte.

`tool_options` parses the tool's arguments, `tool` is its loop over files; `log_lines` prints logs,
`side_files` and `time_index_lines` the files beside them. What the tool does at damage (it goes on, or ends
with an exception in the middle of a line) is done here too: `lenient_entries` and `stored_index` read as
Kafka's classes do.
"""
