"""One table of the sampler is enough for any number of rows, wherever they lie: few proposals a draw."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from dpjax.concepts import ConvexPolygons, Hypothesis
from dpjax.core.types import Neighboring, Privacy
from dpjax.experiments.sweep.hard_polygons import hard_polygon
from dpjax.mechanisms.cover import Gain, cover_plan
from dpjax.mechanisms.cover.lines.halfplanes import HalfPlanes
from dpjax.mechanisms.cover.lines.rejection import Performance, select_cut

SIDE, DRAWS = 2**10, 4
PLAN = cover_plan(Privacy(1.0, 1e-6), 6, 4, Neighboring.ADD_OR_REMOVE_ONE, score=Gain(2.5))

TEMPTED = cover_plan(Privacy(4.0, 1e-6), 13, 4, Neighboring.REPLACE_ONE)


def database(d, n):
    """Rows of a square of side 2^10 that begins at two thirds of the grid; the targets lie outside of a kite."""
    rng = np.random.default_rng(n)
    x = rng.integers(0, SIDE + 1, (n, 2))
    inside = np.abs(x[:, 0] - 500) + 0.7 * np.abs(x[:, 1] - 400) < 380
    return jnp.asarray(x + (d - SIDE) * 2 // 3, jnp.int32), jnp.asarray(~inside), jnp.asarray(inside)


def crowded(n):
    """Rows of `hard_polygon`: a few points with hundreds of rows each, those along an edge nearly on one line."""
    concepts = ConvexPolygons(2**16, 4)
    task = hard_polygon(concepts, 0.1)
    x = task.distribution.draw(jax.random.key(1), n)
    inside = concepts.predict(Hypothesis.of(task.targets), x)[:, 0]
    return jnp.asarray(x, jnp.int32), ~inside, inside


def draws(d, rows, spare=0, plan=PLAN):
    """Of the first round: cuts, and the numbers of proposals ``int32[DRAWS]``; with spare rows in the buffer."""
    family, sizes = HalfPlanes(d, follow=0.9), Performance()

    def one(data, key):
        with jax.enable_x64(True):
            targets = jnp.sum(data[1]).astype(jnp.float64)
            score = plan.scoring.of(targets, jnp.asarray(plan.coefficient).astype(jnp.float64))
        favored = family.favored(family.start(plan.rounds))
        return select_cut(
            family, key, *data, score, bins=sizes.bins, spare=sizes.spare, walls=sizes.walls, favored=favored
        )

    x, target, other = (jnp.pad(part, ((0, spare), *[(0, 0)] * (part.ndim - 1))) for part in rows)
    keys = jax.random.split(jax.random.key(0), DRAWS)
    return jax.tree.map(np.asarray, jax.jit(lambda data: jax.lax.map(partial(one, data), keys))((x, target, other)))


def test_a_draw_takes_few_proposals_and_no_bit_of_it_comes_from_the_buffer():
    found = [draws(2**16, database(2**16, 3_200), spare) for spare in (0, 700)]
    jax.tree.map(np.testing.assert_array_equal, *found)
    assert 4 < np.max(found[0][1]) <= 60


def test_many_rows_of_one_value_are_no_obstacle():
    """Measured 12 to 19; up to 276 without places of their own for the gaps beside them."""
    found = [draws(2**16, crowded(14_000), spare, TEMPTED) for spare in (0, 500)]
    jax.tree.map(np.testing.assert_array_equal, *found)
    assert np.max(found[0][1]) <= 60


@pytest.mark.slow
@pytest.mark.parametrize(("d", "n", "most"), [(SIDE, 400, 8), (2**16, 400, 8), (2**16, 6_400, 80), (SIDE, 12_800, 160)])
def test_a_draw_takes_few_proposals(d, n, most):
    """Measured: 1 to 2, 1 to 2, 1 to 25 and 5 to 41."""
    assert np.all(draws(d, database(d, n))[1] <= most)
