"""Schema expressions to Python: terms with bounds, values of struct members, source text."""
