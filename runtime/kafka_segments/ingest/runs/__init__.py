"""Runs of a table: their files, the state and the accounts in them, and what unfinished ones left."""
