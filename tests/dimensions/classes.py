"""Random classes for the tests of dimensions."""

import numpy as np


def random_class(generator, rows, elements, labels):
    """At most ``rows`` distinct rows over at most ``elements`` elements with at most ``labels`` labels."""
    shape = (int(generator.integers(1, rows + 1)), int(generator.integers(1, elements + 1)))
    count = int(generator.integers(1, labels + 1))
    weights = generator.dirichlet(np.ones(count))
    return np.unique(generator.choice(count, shape, p=weights), axis=0)
