"""Cuts by lines (and other affine functions), chosen exactly by rejection from bounds."""
