"""The error of a synthetic database over all points, value by value."""

from fractions import Fraction

import numpy as np


def points_error(sanitized, x, mask):
    """The largest error of a value's share over all values, as an exact fraction; 0 without rows."""
    rows, points = np.asarray(x)[np.asarray(mask)], np.asarray(sanitized.points)
    _, value = np.unique(np.concatenate([rows, points]), axis=0, return_inverse=True)
    value, n = value.reshape(-1), len(rows)
    counts = np.bincount(value[:n], minlength=len(value)).astype(object)
    weights = np.zeros(len(value), object)
    np.add.at(weights, value[n:], np.asarray(sanitized.weights).astype(object))
    total = int(np.sum(weights))
    return Fraction(int(np.max(np.abs(weights * n - counts * total))), max(n, 1) * total)
