"""Compiled loops around the codecs' C libraries, which decompress many payloads in one call."""
