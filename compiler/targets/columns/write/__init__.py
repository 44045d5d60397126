"""Emitters of the code that writes: the encoders of records and of entry headers."""
