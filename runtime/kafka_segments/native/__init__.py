"""Generated decoders and encoders as machine code: compiled, kept, loaded."""
