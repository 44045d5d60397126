"""The small runtime: what a schema cannot say about one file, and the files and codecs around it."""
