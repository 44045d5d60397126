"""From a query to the work that answers it: offsets, times, conditions, splits; `read` runs a split."""
