"""Reports of runs, for people and for machines."""
