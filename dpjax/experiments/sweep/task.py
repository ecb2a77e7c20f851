"""A learning task: a concept class, a distribution of examples, targets, and label noise."""

from collections.abc import Callable, Iterable
from fractions import Fraction
from functools import cached_property
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.tree_util import GetAttrKey, register_pytree_with_keys_class

from dpjax.concepts import Hypothesis, outside
from dpjax.concepts.base import require_class
from dpjax.concepts.example_distribution import ExampleDistribution
from dpjax.core import checks, keys, random
from dpjax.core.checks import InputError
from dpjax.core.types import Sample
from dpjax.experiments.identity.describe import digest
from dpjax.experiments.sweep.error_mass import SHARES, as_mass

_TARGETS = 64
_ROWS = 1 << 20


@checks.named_arguments
@register_pytree_with_keys_class
class Task:
    """Examples from a distribution, labeled by k targets drawn uniformly and independently from a set.

    A pytree: the class is static; distribution, targets and noise are traced, so another task with the same shapes
    does not recompile.

    Args:
      concepts: a concept class, see `dpjax.concepts.base`.
      distribution: over the class's domain, with ``draw(key, count)``, and ``total`` if the class measures errors in
        its units: `dpjax.uniform`, `dpjax.from_weights`, `dpjax.from_segments`, `dpjax.heavy`, `dpjax.zipf`,
        `dpjax.empirical` (one over a smaller domain {0..m - 1} gives the other elements mass 0); over cubes
        `dpjax.ProductCube`, in the plane `dpjax.concepts.PlaneAtoms`.
      targets: the set, indices of concepts or encoded concepts ``uint32[c, limbs]``; by default
        ``concepts.targets_under(distribution, 64)``.
      noise: rate in [0, 1/2) at which labels are flipped. No concept is then better than the target, and `error` is the
        excess error over it.

    Raises InputError if the parts do not fit together.
    Reference: Bun, Nissim, Stemmer 2016, Definitions 2.1, 2.3 and 2.4; Kaplan, Mansour, Matias, Stemmer 2019,
      Definitions 2.1 and 2.2; Yan 2025, Definitions 2 and 3.
    """

    concepts: Any
    distribution: Any
    targets: Any
    flips: Any

    def __init__(self, concepts: Any, distribution: Any, targets: Any = None, noise: float = 0.0):
        require_class(concepts)
        advice = "for example dpjax.uniform(concepts.domain); a new kind inherits from dpjax.ExampleDistribution"
        checks.instance("distribution", distribution, ExampleDistribution, advice)
        if (why := _fitting(concepts, lambda: distribution.misfit(concepts.domain))) is not None:
            raise InputError("distribution", f"one over {concepts.domain}", why, "build it over concepts.domain")
        rate = noise_of(noise)
        if rate and concepts.columns > 1:
            raise InputError("noise", "0 for a class with more than two labels", repr(noise), "leave it out")
        if targets is None:
            targets = _fitting(concepts, lambda: concepts.targets_under(distribution, _TARGETS))
        encoded = _encoded(concepts, targets)
        self._fill(concepts, distribution, encoded, rate if rate else None)
        self._check()

    @property
    def noise(self) -> float:
        """The rate at which labels are flipped, up to 2**-33."""
        return 0.0 if self.flips is None else int(self.flips) / 2**32

    def tree_flatten_with_keys(self) -> Any:
        """Leaves: the distribution, the targets and the noise."""
        return [(GetAttrKey(name), getattr(self, name)) for name in _LEAVES], self.concepts

    def tree_flatten(self) -> Any:
        """The same without names."""
        return [getattr(self, name) for name in _LEAVES], self.concepts

    @classmethod
    def tree_unflatten(cls, concepts: Any, leaves: Any) -> "Task":
        """Constructs the task from any leaves, without validation."""
        made = object.__new__(cls)
        made._fill(concepts, *leaves)
        return made

    def _fill(self, concepts: Any, distribution: Any, targets: Any, flips: Any) -> None:
        vars(self).update(concepts=concepts, distribution=distribution, targets=targets, flips=flips)

    def draw(self, key: Array, n: Any, k: int = 1, capacity: int | None = None) -> tuple[Sample, Hypothesis]:
        """n labeled examples in a buffer, and the k targets of their label columns.

        Args:
          key: consumed. Targets, elements and flips have separate streams.
          n: ``int32[]`` or a plain number, 0 to capacity; a larger n extends the rows of a smaller one.
          k: static; the first targets do not depend on k.
          capacity: static rows of the buffer; by default n, which then must be a plain number.
        """
        of_target, of_sample, of_noise = keys.streams(key, "target", "sample", "noise")
        if capacity is None:
            if isinstance(n, jax.core.Tracer):
                actual = "none, with n a traced value"
                raise InputError(
                    "capacity", "the rows of the buffer, at least the largest n", actual, "give capacity=1024"
                )
            capacity = max(1, checks.integer("n", n, 0, _ROWS))
        checks.integer("capacity", capacity, 1, _ROWS)
        if not isinstance(n, jax.Array):
            checks.integer("n", int(n) if isinstance(n, np.integer) else n, 0, capacity)
        elif n.shape != () or not jnp.issubdtype(n.dtype, jnp.integer):
            raise InputError("n", "a whole number", f"{n.dtype}{list(n.shape)}", "vmap over several sample sizes")
        target = self.draw_targets(of_target, k)
        x = self.distribution.draw(of_sample, capacity)
        y = self.concepts.predict(target, x)
        if self.flips is not None:
            words = jax.vmap(
                lambda stream: random.words(stream, (capacity,))[0], out_axes=1
            )  # a separate stream per column
            y = y ^ (words(keys.per_index(of_noise, k)) < self.flips)
        return Sample(x, y, jnp.arange(capacity, dtype=jnp.int32) < n), target

    def draw_targets(self, key: Array, k: int) -> Hypothesis:
        """k concepts drawn from the set."""
        targets = jnp.asarray(self.targets)
        bound = jnp.asarray([targets.shape[0]], jnp.uint32)
        index = random.randint_below(key, bound, (checks.integer("k", k, 1),))[:, 0].astype(jnp.int32)
        return Hypothesis.of(targets[index])

    def error(self, found: Any, target: Hypothesis) -> Array:
        """``float32[k]``: the probability that each hypothesis errs on an example, less the target's own."""
        with jax.enable_x64(True):
            mass, valid = self.mass(found, target)
            share = mass.astype(jnp.float64) / self._divisor()
            if self.flips is not None:
                share = share * (1 - jnp.asarray(self.flips).astype(jnp.float64) / 2**31)
            return jnp.where(valid & (share <= 1), share, jnp.nan).astype(jnp.float32)

    def mass(self, found: Any, target: Hypothesis) -> tuple[Array, Array]:
        """Mass of the disagreement, ``uint64[k]`` in units, and whether it is valid; 64-bit types enabled.

        By the class's ``error``, or by the hypothesis's own if it is a `concepts.outside.Outside`.
        InputError for concepts that are not whole numbers, which may be NaN.
        """
        words = getattr(getattr(found, "concept", None), "dtype", jnp.uint32)
        if jnp.issubdtype(words, jnp.inexact):
            advice = "return the numbers of concepts: Hypothesis.of(number)"
            raise InputError("hypothesis", "a concept of whole numbers, uint32[k, ...]", f"dtype {words}", advice)
        return as_mass(outside.error(self.concepts, self.distribution, found, target))

    @cached_property
    def total(self) -> int:
        """The number of units of probability 1, on the host."""
        return SHARES if self._in_shares else int(self.distribution.total)

    @property
    def scale(self) -> Fraction:
        """Factor from a hypothesis's disagreement with the target to its excess error: 1 minus twice the noise."""
        return Fraction(1) if self.flips is None else 1 - Fraction(int(self.flips), 2**31)

    @cached_property
    def digest(self) -> str:
        """Digest of class, distribution, targets and noise, 64 hexadecimal digits."""
        return digest([self.concepts, self.distribution, self.targets, self.flips], "task")

    @cached_property
    def class_digest(self) -> str:
        """What the concept class is, 64 hexadecimal digits."""
        return digest(self.concepts, "concepts")

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"a Task does not change: make another one in place of setting {name}")

    def __repr__(self) -> str:
        law = type(self.distribution).__name__
        return f"Task({self.concepts!r}, {law}, {len(self.targets)} targets, noise={self.noise:g})"

    @cached_property
    def _in_shares(self) -> bool:
        return jnp.issubdtype(self._shapes()[1].dtype, jnp.floating)

    def _divisor(self) -> Any:
        if self._in_shares:
            return float(SHARES)
        return self.distribution.units()

    def _shapes(self) -> tuple[Any, Any]:
        """Shapes of a sample of two rows with one label column, and of the error of its target."""

        def run(task: Task) -> tuple[Any, Any]:
            sample, target = task.draw(keys.root(0), 2)
            with jax.enable_x64(True):
                return sample, task.concepts.error(task.distribution, target, target)

        return jax.eval_shape(run, self)

    def _check(self) -> None:
        sample, error = _fitting(self.concepts, self._shapes)
        for name, part, like in (("y", sample.y, (2, self.concepts.columns)), ("error", error, (1,))):
            if part.shape != like:
                what = f"concepts.{'predict' if name == 'y' else 'error'}"
                raise InputError(what, f"an array of shape {like} here", f"{part.shape}", "see dpjax.concepts.base")


def _fitting(concepts: Any, work: Callable[[], Any]) -> Any:
    """The value of ``work``; an error in it is one of parts that do not fit together."""
    try:
        return work()
    except InputError:
        raise
    except checks.RAISED as cause:
        first = str(cause).splitlines()[0] if str(cause) else ""
        expected = f"a distribution and targets that fit {type(concepts).__name__}"
        advice = "take distribution and targets of this class"
        raise InputError("task", expected, f"{type(cause).__name__}: {first}", advice) from cause


_LEAVES = ("distribution", "targets", "flips")


def noise_of(rate: float) -> np.uint32:
    """A rate in [0, 1/2) as a multiple of 2**-32."""
    if not 0 <= checks.number("noise", rate) < 0.5:
        raise InputError("noise", "a rate in [0, 1/2)", repr(rate), "flip fewer labels: at 1/2 they are random")
    return np.uint32(min(round(rate * 2**32), 2**31 - 1))


def _encoded(concepts: Any, targets: Any) -> Array:
    """``uint32[c, limbs]`` of encoded concepts, or of a list of their indices."""
    if not isinstance(targets, Iterable) and not hasattr(targets, "dtype"):
        raise InputError("targets", "numbers of concepts, or encoded ones", repr(targets), "give a list")
    array = targets if hasattr(targets, "dtype") else np.asarray(list(targets), dtype=object)
    if array.ndim == 2 and array.dtype == np.uint32 and len(array):
        return jnp.asarray(array)
    if array.ndim == 1 and len(array) and array.dtype.kind in "iuO":
        return jnp.asarray(concepts.numbered([_plain(number) for number in array]))
    shape = f"{array.dtype}{list(array.shape)}"
    raise InputError("targets", "numbers of concepts, or encoded ones, uint32[c, limbs]", shape, "give at least one")


def _plain(value: Any) -> Any:
    return int(value) if isinstance(value, np.integer) else value
