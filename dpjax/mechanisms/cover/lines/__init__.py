"""Cuts by lines (and other affine functions), sampled exactly by rejection from upper bounds."""
