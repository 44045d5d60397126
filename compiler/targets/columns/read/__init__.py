"""Emitters of the code that reads: the scanner of entry headers and the decoder of records."""
