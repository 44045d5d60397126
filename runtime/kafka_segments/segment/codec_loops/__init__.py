"""Many ordinary payloads decompressed with one call: compiled loops around the codecs' C libraries."""
