"""The list of tiny classes: every class once up to symmetry."""

from itertools import permutations, product

import numpy as np

from dpjax.attacks.optimum.tiny import code_of, matrix_of_code, name_of, representative, tiny_classes


def burnside(m):
    """The number of nonempty classes on m points up to symmetry, by the cycles of each renaming."""
    every, total = list(product((0, 1), repeat=m)), 0
    group = list(product(permutations(range(m)), every))
    for order, flip in group:
        image = {row: tuple(row[x] ^ flip[x] for x in order) for row in every}
        left, cycles = set(every), 0
        while left:
            row, cycles = next(iter(left)), cycles + 1
            while row in left:
                left.remove(row)
                row = image[row]
        total += 2**cycles
    return total // len(group) - 1


def test_classes_are_all_classes_once():
    found = tiny_classes(4)
    for m in (1, 2, 3, 4):
        assert sum(len(one[0]) == m for one in found) == burnside(m) - 1  # without the class of one concept
    assert len(found) == len(set(found)) == 425 and name_of(found[-1]).endswith("(all functions)")
    assert tiny_classes(3) == found[:25] and tiny_classes(4, 4) == found[25:]
    assert all(matrix_of_code(code_of(one)) == one for one in found)
    generator = np.random.default_rng(0)
    for one in [*found[:25], *found[25::40]]:
        order, flip = generator.permutation(len(one[0])), generator.integers(0, 2, len(one[0]))
        moved = [tuple(int(row[x] ^ flip[x]) for x in order) for row in one]
        assert representative(moved) == one
