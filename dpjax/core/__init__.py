"""The ground floor: nouns, checks, keys, draws, random numbers, wide integers."""
