"""Files and stores: opened, listed, read ahead, locked and written whole."""
