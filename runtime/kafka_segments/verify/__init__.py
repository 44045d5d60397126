"""Verification of log directories: bytes, batches, indexes, checkpoints, transactions, producers and copies.

Every finding has the id of its check; `catalogue` lists them.
"""
