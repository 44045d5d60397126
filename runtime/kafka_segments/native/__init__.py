"""Machine code for generated functions: compiled by numba, cached, loaded by LLVM."""
