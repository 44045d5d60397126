"""Files of data: which columns, how they are written, and what a directory or a store does with them."""
