"""Records of one entry, one after the other, by the generated classes."""
