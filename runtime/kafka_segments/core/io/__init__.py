"""Files and stores: opened, listed, read ahead and written whole."""
