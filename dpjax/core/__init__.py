"""The base layer: data types, input checks, keys, draws, random numbers, wide integers, plans, files."""
