"""One table of the sampler is enough for any number of rows, wherever they lie: few proposals a draw."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from dpjax.core.types import Neighboring, Privacy
from dpjax.mechanisms.cover import Gain, cover_plan
from dpjax.mechanisms.cover.lines.halfplanes import HalfPlanes
from dpjax.mechanisms.cover.lines.rejection import Performance, select_cut

SIDE, DRAWS = 2**10, 4
PLAN = cover_plan(Privacy(1.0, 1e-6), 6, 4, Neighboring.ADD_OR_REMOVE_ONE, score=Gain(2.5))


def database(d, n):
    """Rows of a square of side 2^10 that begins at two thirds of the grid; the targets lie outside of a kite."""
    rng = np.random.default_rng(n)
    x = rng.integers(0, SIDE + 1, (n, 2))
    inside = np.abs(x[:, 0] - 500) + 0.7 * np.abs(x[:, 1] - 400) < 380
    return jnp.asarray(x + (d - SIDE) * 2 // 3, jnp.int32), jnp.asarray(~inside), jnp.asarray(inside)


def proposals(d, n):
    """Of the first round, ``int32[DRAWS]``."""
    family, sizes = HalfPlanes(d, follow=0.9), Performance()

    def one(data, key):
        with jax.enable_x64(True):
            score = PLAN.scoring.of(jnp.float64(0), jnp.asarray(PLAN.coefficient).astype(jnp.float64))
        favored = family.favored(family.start(PLAN.rounds))
        return select_cut(family, key, *data, score, bins=sizes.bins, spare=sizes.spare, walls=sizes.walls,
                          favored=favored)[1]  # fmt: skip

    keys = jax.random.split(jax.random.key(0), DRAWS)
    return np.asarray(jax.jit(lambda data: jax.lax.map(partial(one, data), keys))(database(d, n)))


@pytest.mark.parametrize(("d", "n", "most"), [(SIDE, 400, 8), (2**16, 400, 8), (2**16, 6_400, 80), (SIDE, 12_800, 160)])
def test_a_draw_takes_few_proposals(d, n, most):
    """Measured: 1, 1, 17 to 25 and 20 to 60."""
    assert np.all(proposals(d, n) <= most)
