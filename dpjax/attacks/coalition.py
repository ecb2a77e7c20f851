"""The coalition attack: the rows of a codebook become a database, the learner's hypotheses a word, which is traced."""

from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array
from jax.tree_util import register_dataclass

from dpjax.attacks import pirates
from dpjax.attacks.codes.base import Code, require_code
from dpjax.attacks.placement import Placement, place, spread
from dpjax.core import checks, keys
from dpjax.core.checks import InputError
from dpjax.core.types import Neighboring, Sample
from dpjax.learners.base import Learner, require_learner
from dpjax.learners.columns import for_concepts


@register_dataclass
@dataclass(frozen=True)
class Attacked:
    """accused: ``bool[n]``. feasible: ``bool[]``, whether the word satisfies the marking assumption."""

    accused: Array
    feasible: Array


@dataclass(frozen=True)
class CoalitionAttack:
    """Runs a learner of k concepts on a codebook with n users and traces the word that its hypotheses spell.

    Row i of the database is (x_i, W_i), with user i's code word as its k labels; the other rows are junk. Bit j of the
    word is 1 if more than n / 2 of the N predictions h_j(x), less those that the junk labels account for, are 1: an
    average of N entries is rounded at n / (2 N), which is 1.5 alpha for N = n / (3 alpha), and at 1/2 for N = n. The
    word satisfies the marking assumption whenever all hypotheses have empirical error alpha < n / (2 N), so that a
    learner that is (alpha, beta)-accurate on the database is traced with probability at least
    1 - beta less the probability of the code that nobody is accused.

    The accused set is post-processing of the learner's output. If the learner is (epsilon, delta)-private, then
    P[i accused | i present] <= e^epsilon P[i accused | i absent] + delta, and the last probability is at most xi: the
    word does not depend on the code word of user i, and the code is sound for every such word.

    Args:
      learner: static; one of k' concepts becomes the corresponding one of k concepts, `learners.columns.for_concepts`.
      code: static, with at least two users.
      rows: N >= n, static; n by default.
      uniform: static; every element of the domain is a user's, so that the rows are uniform examples without
        repetition, as parities are learned from. A bit of the word is 1 if the number of predictions 1 is above the
        middle of the least and the largest number that a concept has: n / 4 for parities, and alpha < 1/4 is enough.

    Reference: Bun, Nissim, Stemmer 2016, Theorems 4.3 and 4.7, Remarks 4.4 and 4.8, Proposition 4.11. The paper asks
    for alpha <= 1/3, and 1/6 for parities; the roundings above need less.
    """

    learner: Learner
    code: Code
    rows: int | None = None
    uniform: bool = False

    def __post_init__(self):
        require_learner(self.learner)
        require_code(self.code)
        checks.integer("code.users", self.code.users, 2)
        if self.uniform and self.size != self.code.users:
            raise InputError("rows", "one for each element where uniform", str(self.rows), "leave rows or uniform out")
        checks.whole_or_none("rows", self.rows, self.code.users, 2**24)
        if self.learner.concepts.columns != 1:
            actual = f"{type(self.learner.concepts).__name__} with {self.learner.concepts.columns} columns"
            raise InputError("concepts", "a class with one label column", actual, "take one bit of the labels")
        _ = self.placement  # refuses a class that does not fit

    @property
    def size(self) -> int:
        """N."""
        return self.code.users if self.rows is None else self.rows

    @property
    def placement(self) -> Placement:
        """The elements of the users and of the junk rows."""
        if self.uniform:
            return spread(self.code, self.learner.concepts)
        return place(self.code, self.learner.concepts, self.size > self.code.users)

    @property
    def k_learner(self) -> Learner:
        """The learner of k concepts."""
        return for_concepts(self.learner, self.code.length)

    @property
    def accuracy(self) -> float:
        """Hypotheses of empirical error below this, beyond the best concept's, give a word that satisfies the marking
        assumption: n / (2 N), or less where uniform."""
        few, many = self.placement.few_and_many
        return (many - few) / (2 * self.size)

    def run(self, key: Array, plan: Any, absent: Array) -> Attacked:
        """One codebook, one run of the learner, one tracing; traceable. ``key`` is consumed.

        plan: of `k_learner`. absent: ``int32[]``, the number of the user (from 0) whose row is not in the database, -1
        for none. Under replace-one the row is replaced by another user's, under add-or-remove-one it is left out: the
        two databases are neighbors.
        """
        of_code, of_learner = keys.streams(key, "codebook", "learner")
        codebook = self.code.generate(of_code)
        learner = self.k_learner
        hypothesis = learner.learn(of_learner, self._sample(codebook.bits, absent), plan)
        place, n = self.placement, self.code.users
        labels = learner.predict(hypothesis, self._encoded(place.elements))
        ones = jnp.sum(labels, axis=0, dtype=jnp.int32)
        if place.junk is not None:
            wrong = learner.predict(hypothesis, self._encoded((place.junk,)))[0] != place.junk_label
            ones = ones + jnp.where(wrong, (self.size - n) * (-1 if place.junk_label else 1), 0)
        word = 2 * ones > sum(place.few_and_many)
        members = jnp.arange(n, dtype=jnp.int32) != absent
        feasible = pirates.feasible(codebook.bits, members, word)
        return Attacked(self.code.trace(codebook, word), feasible)

    def _encoded(self, elements: tuple[int, ...]) -> Array:
        return jnp.asarray(self.learner.concepts.domain.encode(elements))

    def _sample(self, bits: Array, absent: Array) -> Sample:
        """The users' rows, then junk. The row of an absent user is a copy of another one; the one copied is left out
        where neighbors differ by a row that is added or removed."""
        place, n = self.placement, self.code.users
        junk = self.size - n
        order, last = jnp.arange(n, dtype=jnp.int32), jnp.int32(n - 1)
        padding = () if place.junk is None else (place.junk,) * junk
        x = self._encoded(padding + place.elements)
        y = jnp.concatenate([jnp.full((junk, bits.shape[1]), place.junk_label), bits])
        mask = jnp.ones(self.size, bool)
        if self.learner.neighboring is Neighboring.REPLACE_ONE:
            other = jnp.where(absent == last, last - 1, last)
        else:
            other = last
            mask = mask.at[-1].set(absent < 0)
        order = junk + jnp.where(order == absent, other, order)
        order = jnp.concatenate([jnp.arange(junk, dtype=jnp.int32), order])
        return Sample(x[order], y[order], mask)


def run_batch(attack: CoalitionAttack, plan: Any, root: Array, absent: Any, first: Any, count: int) -> Attacked:
    """Trials ``first`` to ``first`` + ``count`` - 1 under the key ``root``, with a leading axis of trials.

    attack and count are static. Trials run in blocks whose databases and codebooks take at most about 64 MiB.
    """
    cells = attack.code.length * (attack.size + attack.code.users)
    at_once = max(1, min(32, (1 << 24) // cells))
    return _run_batch(attack, plan, root, jnp.int32(absent), jnp.uint32(first), count, at_once)


def _trials(
    attack: CoalitionAttack, plan: Any, root: Array, absent: Array, first: Array, count: int, at_once: int
) -> Attacked:
    def one(trial: Array) -> Attacked:
        return attack.run(keys.of_trial(root, trial), plan, absent)

    return jax.lax.map(one, first + jnp.arange(count, dtype=jnp.uint32), batch_size=at_once)


_run_batch = jax.jit(_trials, static_argnums=(0, 5, 6))
