"""The base layer: types, input checks, class matrices, keys, draws, random numbers, wide integers, plans, files."""
