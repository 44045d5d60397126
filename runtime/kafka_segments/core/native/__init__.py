"""Machine code for generated functions: in the wheel, or compiled by numba and cached."""
