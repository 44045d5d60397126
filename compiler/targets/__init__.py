"""What is generated from the typed representation, one module or package a target."""
