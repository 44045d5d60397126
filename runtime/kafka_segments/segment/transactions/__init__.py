"""Transactions in segments: their state, what was aborted, and what damage leaves in doubt."""
