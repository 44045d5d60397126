"""Entries with what their records show, and runs of those that are sound."""
