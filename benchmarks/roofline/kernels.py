"""The kernels of dpjax, each a program with a counter as argument, and what it computes."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import jax
import jax.numpy as jnp
from jax import Array

from benchmarks import halfplanes, selection
from benchmarks.clock import Work
from benchmarks.roofline import tiles
from benchmarks.roofline.ceilings import called
from benchmarks.roofline.demand import demand
from benchmarks.roofline.device import Sizes
from benchmarks.roofline.timing import on_cpu
from dpjax.core import keys, random
from dpjax.laws import IntegerWeights

Program = Callable[[Array], Array]


@dataclass(frozen=True)
class Kernel:
    """One kernel.

    Args:
      name: as on the command line.
      unit: what it computes.
      build: sizes -> (jitted program of a ``uint32[]``, units of one call).
      bound: the ceiling that it is compared with; by default the one that limits it most.
      goal: the least fraction of it that passes.
    """

    name: str
    unit: str
    build: Callable[[Sizes], tuple[Program, int]]
    bound: str | None = None
    goal: float | None = None

    def built(self, sizes: Sizes) -> tuple[Work, dict[str, float]]:
        """Its work, and its `demand`."""
        program, units = self.build(sizes)
        return called(program, units), demand(program, jnp.uint32(0), units=units)


def _choices(sizes: Sizes, draw: Callable[[Array, Array], Array], candidates: int, at_once: int) -> tuple[Program, int]:
    trials = max(1, sizes.candidates // candidates)
    together = min(at_once, trials) if on_cpu() else trials
    return selection.choices(draw, candidates, trials, together), trials * candidates


def _draws(sizes: Sizes, draw: Callable[[Array, tuple[int, ...]], Array]) -> tuple[Program, int]:
    """Blocks of draws, each consumed by the sum of its bits."""

    def block(index: Array) -> Array:
        drawn = draw(keys.of_trial(keys.root(0), index), (sizes.block,))
        return jnp.sum(jax.lax.bitcast_convert_type(drawn, jnp.uint32), dtype=jnp.uint32)

    @jax.jit
    def program(first: Array) -> Array:
        return jax.lax.map(block, first * jnp.uint32(sizes.blocks) + jnp.arange(sizes.blocks, dtype=jnp.uint32))

    return program, sizes.block * sizes.blocks


def _gumbel(key: Array, shape: tuple[int, ...]) -> Array:
    return -jnp.log(random.exponential(key, shape))


def _discrete(sizes: Sizes) -> tuple[Program, int]:
    table = random.geometric_table(10.0)
    return _draws(sizes, lambda key, shape: random.discrete_laplace(key, table, shape))


def _integers(key: Array, shape: tuple[int, ...]) -> Array:
    return random.randint_below(key, jnp.array([3, 5], jnp.uint32), shape)


def _weights(sizes: Sizes) -> tuple[Program, int]:
    law = IntegerWeights(jnp.arange(1, 65, dtype=jnp.uint32))
    return _draws(sizes, lambda key, shape: jax.vmap(law.sample)(jax.random.split(key, shape)))


def _halfplane(sizes: Sizes) -> tuple[Program, int]:
    data = [jax.device_put(part[0]) for part in halfplanes.rows(1500)]
    return jax.jit(lambda trial: halfplanes.by_rejection(keys.of_trial(keys.root(0), trial), *data)), 1


_CANDIDATES, _DRAWS = "candidates", "draws"
KERNELS = (
    *(
        Kernel(f"exponential-{name}", _CANDIDATES, partial(_choices, draw=selection.by_sample, candidates=m, at_once=b))
        for name, m, b in (("16", 16, 1024), ("1k", 1 << 10, 256), ("64k", 1 << 16, 8))
    ),
    Kernel("race-16", _CANDIDATES, partial(_choices, draw=selection.by_race, candidates=16, at_once=1024)),
    Kernel(
        "race-1k", _CANDIDATES, partial(_choices, draw=selection.by_race, candidates=1 << 10, at_once=64), "least", 0.6
    ),
    Kernel("laplace", _DRAWS, partial(_draws, draw=random.laplace)),
    Kernel("exponential-noise", _DRAWS, partial(_draws, draw=random.exponential)),
    Kernel("gumbel", _DRAWS, partial(_draws, draw=_gumbel)),
    Kernel("normal", _DRAWS, partial(_draws, draw=random.normal)),
    Kernel("discrete-laplace", _DRAWS, _discrete),
    Kernel("integers", _DRAWS, partial(_draws, draw=_integers)),
    Kernel("integer-weights", _DRAWS, _weights),
    Kernel("halfplane", "choices", _halfplane),
    *(Kernel(name, "trials", partial(tiles.program, build=build)) for name, build in tiles.TILES.items()),
)
