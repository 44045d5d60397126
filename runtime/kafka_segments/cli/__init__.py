"""The command `kafka-segments`: one module for each subcommand.

A subcommand's module has `add_parser(subparsers)`, which sets `run` as a default of its parser: a function of
the parsed arguments that returns the exit status. `console` has the statuses and prints messages.
"""
