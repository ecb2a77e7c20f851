"""Slab wedges {a <= x <= b, above one line, below another}, sampled exactly by rejection from upper bounds."""
