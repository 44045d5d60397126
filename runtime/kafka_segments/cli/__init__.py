"""The command `kafka-segments`: one module a verb.

A subcommand's module has `add_parser(subparsers)`, which sets `run` as a default of its parser: a function of
the parsed arguments that returns the exit status. Statuses and messages are in `console`.
"""
