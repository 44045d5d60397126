"""From `.ksy` files to the typed representation in `model`: see `load`."""
