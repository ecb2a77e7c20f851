"""Set cover over halfplanes, exactly: every labelled multiset of a few rows on four points, one round or two, float64.

Areas of cells come from the arrangement of all four points in Fractions, so one table serves all databases; that draws
have this law is the matter of tests/mechanisms/cover.
"""

import importlib.util
import itertools

import numpy as np
import pytest

from dpjax.accounting import set_cover_delta
from dpjax.accounting.cover.effects import Difference
from dpjax.accounting.numeric.profile import hockey_stick
from dpjax.audit.target.databases import samples
from dpjax.concepts.plane import Plane
from dpjax.core.types import Neighboring
from tests.oracles.slabs import Frame

POINTS = [(0, 0), (0, 4), (4, 0), (4, 4)]


@pytest.fixture(scope="module")
def cells(root):
    """Mass of each set of points that a halfplane hits, and the sets, ``bool[functions, 4]``."""
    path = root / "tests" / "mechanisms" / "cover" / "arrangement.py"
    spec = importlib.util.spec_from_file_location("arrangement", path)
    arrangement = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(arrangement)
    mass = np.zeros(16)
    for (_, below), part in arrangement.masses(POINTS, Frame.rotations(4)).items():
        mass[[below, 15 ^ below]] += float(part)
    hit = (np.arange(16)[:, None] >> np.arange(4)) & 1
    assert np.count_nonzero(mass) == 14  # all but the two diagonals
    return np.log(mass[mass > 0]), hit[mass > 0].astype(bool)


def counts_of(universe):
    """How many targets and others each database has on each point, ``int[databases, 2, 4]``."""
    x, y, mask = (np.asarray(part) for part in (universe.databases.x, universe.databases.y, universe.databases.mask))
    point = 2 * x[..., 0] + x[..., 1]
    found = np.zeros((len(x), 2, 4), int)
    for row in range(x.shape[1]):
        np.add.at(found, (np.arange(len(x)), y[:, row, 0].astype(int), point[:, row]), mask[:, row])
    return found


def law(counts, cells, rounds, k, coefficient):
    """Log-probabilities of the lists of functions, ``float64[databases, functions**rounds]``; exact counts, or none."""
    log_mass, hit = cells

    def choose(alive):
        target, other = (alive @ hit.T.astype(int)).transpose(1, 0, 2)
        if isinstance(k, Difference):
            quality = target / k.lam - other
        else:
            quality = np.minimum(target - alive[:, 0].sum(axis=1)[:, None] / k, -other)
        weight = log_mass + coefficient * quality
        return weight - np.logaddexp.reduce(weight, axis=1, keepdims=True)

    def rest(alive, left):
        first = choose(alive)
        if left == 1:
            return first
        after = [first[:, [h]] + rest(alive * ~hit[h], left - 1) for h in range(len(hit))]
        return np.concatenate(after, axis=1)

    return rest(counts, rounds)


@pytest.mark.parametrize("neighboring", list(Neighboring))
@pytest.mark.parametrize(
    ("rounds", "k", "rows"), [(1, 1, 6), (1, 3, 6), (2, 2, 5), (1, Difference(2.5), 6), (2, Difference(2.5), 5)]
)
def test_no_sample_exceeds_the_claim_and_a_larger_coefficient_does(cells, neighboring, rounds, k, rows):
    universe = samples(Plane(1), 1, rows, neighboring, ordered=False)
    one, other = universe.pairs.T
    worst = {}
    for coefficient, times in itertools.product((0.3, 1.2), (1.0, 2.0)):
        found = law(counts_of(universe), cells, rounds, k, coefficient * times)
        for epsilon in (0.5 * coefficient * rounds, 0.8 * coefficient * rounds):
            claim = set_cover_delta(epsilon, coefficient, rounds, k, neighboring)
            exact = max(
                hockey_stick(found[one[part]], found[other[part]], epsilon).max()
                for part in np.array_split(np.arange(len(one)), 1 + len(one) // 20_000)
            )
            worst[coefficient, times, epsilon] = exact / claim
    assert max(ratio for (_, times, _), ratio in worst.items() if times == 1) <= 1 + 1e-9
    assert min(ratio for (_, times, _), ratio in worst.items() if times == 2) > 1
