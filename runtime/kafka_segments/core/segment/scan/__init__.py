"""Entries of a segment: scan, checks, and the search after damage."""
