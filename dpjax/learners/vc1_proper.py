"""Learning a class of VC dimension 1 by a concept of the class: a private descent from the improper learner's node."""

from dataclasses import dataclass, replace
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from dpjax.accounting.composition import basic, parallel
from dpjax.accounting.guarantee import Guarantee
from dpjax.accounting.optimal_composition import optimal
from dpjax.accounting.zcdp import exponential_guarantee, pure_rho, zcdp
from dpjax.concepts.hypothesis import Hypothesis
from dpjax.concepts.tree.tree import Tree
from dpjax.core import checks, keys
from dpjax.core.checks import InputError
from dpjax.core.draws import asked
from dpjax.core.types import Accuracy, Neighboring, Privacy, Sample, as_float, at_most
from dpjax.laws import Laplace
from dpjax.learners import budget
from dpjax.learners.base import flipped_label_pairs, single_column
from dpjax.learners.vc1_improper import ImproperVC1, sample_at
from dpjax.mechanisms.exponential import exponential
from dpjax.theory import vc1 as theory

_TEST = 0.25  # of epsilon, for all tests together
_NEVER = jnp.iinfo(jnp.int32).max
_EXACT_ROUNDS = 64  # up to so many rounds the optimal composition is used, beyond zCDP


class Counts(NamedTuple):
    """What the second part says of each node below the start, ``int32[V + 1]``.

    zeros: examples labelled 0 at its descendants-or-self. path: the same on the path from it up to the start, without
    the start. leaf: ``bool``, whether it is the first concept below the start on its path.
    """

    zeros: Array
    path: Array
    leaf: Array


@dataclass(frozen=True)
class ProperVC1:
    """Algorithms 3 and 4: from the improper learner's node down to the first concept on some path.

    The first rows go to the improper learner, the others choose the way. Where some subtree holds few examples
    labelled 0, it is entered and the descent is over; elsewhere a child is chosen by the best leaf below it.

    Args:
      improper: the learner of the first part, over a `Tree`.
      share: a in (0, 1), static: a subtree with fewer than a N of the N second rows labelled 0 ends the descent.
      rounds: static; choices among children, at most. `planned` takes what the tree and ``share`` allow.
      first: static share of the rows that the first part reads, in (0, 1).

    Privacy: (epsilon, delta), replace-one, for every sample: a row is in one part, and each spends all of the budget.
      The second part is one AboveThreshold with a quarter of epsilon, and ``rounds`` exponential mechanisms.
    Utility: `theory.vc1.descent` second rows with the improper learner's at alpha/8, each failing with beta / 2. The
      hypothesis is always a concept of the class.
    Reference: Yan 2025 (proper learner), Algorithms 3 and 4, Theorem 12 and Claims 1 to 5; AboveThreshold for the tests
      and all constants are our own.
    """

    improper: ImproperVC1
    share: float
    rounds: int
    first: float = 0.5
    neighboring: Neighboring = Neighboring.REPLACE_ONE

    def __post_init__(self):
        if not isinstance(self.improper, ImproperVC1) or not isinstance(self.improper.concepts, Tree):
            raise InputError(
                "improper", "an ImproperVC1 over a Tree", type(self.improper).__name__,
                "thresholds are proper already: use ImproperVC1",
            )  # fmt: skip
        checks.probability("share", self.share)
        checks.probability("first", self.first)
        checks.integer("rounds", self.rounds, 1, 1 << 20)

    @staticmethod
    def planned(concepts: Tree, privacy: Privacy, accuracy: Accuracy, method: str = "auto") -> "ProperVC1":
        """With what the theorem needs: an improper learner for alpha/8 and beta/2, share alpha/12, no idle round.

        Rounds are as many as the zeros can pay for, ceil(2/share), or as improper nodes can follow one another.
        """
        beta = checks.probability("beta", float(accuracy.beta)) / 2
        alpha = checks.probability("alpha", float(accuracy.alpha))
        improper = ImproperVC1.planned(concepts, privacy, Accuracy(alpha / 8, beta), method)
        share = alpha / 12
        rounds = max(1, min(theory.descent_rounds(share), concepts.longest_improper))
        plan = ProperVC1(improper, share, rounds)
        first, second = plan.parts(privacy, accuracy)
        return replace(plan, first=min(max(first / (first + second), 1e-3), 1 - 1e-3))

    @property
    def concepts(self) -> Tree:
        """The improper learner's."""
        tree = self.improper.concepts
        assert isinstance(tree, Tree)
        return tree

    def learn(self, key: Array, sample: Sample, privacy: Privacy, accuracy: Accuracy) -> Hypothesis:
        """One concept of the class; the outcome is the improper learner's."""
        of_start, of_walk = keys.streams(key, "start", "walk")
        cut = (sample.size.astype(jnp.float32) * jnp.float32(self.first)).astype(jnp.int32)
        place = jnp.arange(sample.capacity, dtype=jnp.int32)
        one = Sample(sample.x, sample.y, sample.mask & (place < cut))
        other = Sample(sample.x, sample.y, sample.mask & (place >= cut))
        start = self.improper.learn(of_start, one, privacy, accuracy)
        node = start.concept[0, 1].astype(jnp.int32)
        leaf = self.descend(of_walk, node, other, privacy)
        return Hypothesis(jnp.stack([jnp.uint32(0), leaf.astype(jnp.uint32)])[None], start.zero, start.outcome)

    def descend(self, key: Array, start: Array, sample: Sample, privacy: Privacy) -> Array:
        """From node ``start`` (``int32[]``) to a proper node at or below it, ``int32[]``."""
        tree = self.concepts
        found = self.counts(start, sample)
        parent, number = jnp.asarray(tree.parent), jnp.arange(tree.size, dtype=jnp.int32)
        proper, tout = jnp.asarray(tree.proper), jnp.asarray(tree.tout)
        epsilon = as_float(privacy.epsilon)
        share = self._choices(privacy)
        of_bar, of_rounds = keys.streams(key, "bar", "rounds")
        unit = 2 / (epsilon * jnp.float32(_TEST))
        bar = jnp.float32(self.share) * sample.size.astype(jnp.float32) + Laplace(jnp.zeros_like(unit), unit).sample(
            of_bar
        )

        def round_(state: tuple[Array, Array], turn_key: Array) -> tuple[tuple[Array, Array], None]:
            node, done = state
            of_test, of_choice = keys.streams(turn_key, "test", "choice")
            children = (parent == node) & (number > 0)
            fewest = asked(jnp.min(jnp.where(children, found.zeros, _NEVER)), "fewest zeros", 1)
            quiet = fewest.astype(jnp.float32) + Laplace(jnp.zeros_like(unit), 2 * unit).sample(of_test) <= bar
            best = _best_below(children, found, number < tout[node])
            scores = jnp.where(quiet, -found.zeros, -best)
            chosen = exponential(jnp.where(children, scores, 0), share, where=children).sample(of_choice)
            stays = done | proper[node] | (chosen < 0)
            return (jnp.where(stays, node, chosen), done | stays | quiet), None

        (node, _), _ = jax.lax.scan(round_, (start, jnp.bool_(False)), keys.per_index(of_rounds, self.rounds))
        below = found.leaf & (number >= node) & (number < tout[node])
        return jnp.where(proper[node], node, jnp.min(jnp.where(below, number, tree.size - 1)))

    def counts(self, start: Array, sample: Sample) -> Counts:
        """Of the rows below ``start``; a replaced row moves each number by at most 1."""
        tree = self.concepts
        column = single_column(sample, "ProperVC1")
        place, tout = tree.node_of(sample.x), jnp.asarray(tree.tout)
        zero = sample.mask & ~tree.relabel(sample.x, column) & (place > 0)
        number = jnp.arange(tree.size, dtype=jnp.int32)
        at = jnp.zeros(tree.size + 1, jnp.int32).at[jnp.where(zero, place, tree.size)].add(1)[:-1]
        up_to = jnp.append(jnp.zeros(1, jnp.int32), jnp.cumsum(at, dtype=jnp.int32))
        opened = at - jnp.zeros(tree.size + 1, jnp.int32).at[tout].add(at)[:-1]
        above = jnp.cumsum(opened, dtype=jnp.int32)
        inside = (number > start) & (number < tout[start])
        leaf = inside & jnp.asarray(tree.proper) & (jnp.asarray(tree.proper_above) <= start)
        return Counts(up_to[tout] - up_to[number], above - above[start], leaf)

    def _choices(self, privacy: Privacy) -> Array:
        """epsilon0 of one choice among children."""
        walk = Privacy(as_float(privacy.epsilon) * jnp.float32(1 - _TEST), privacy.delta)
        return as_float(budget.per_run(walk, self.rounds, self._composition).epsilon)

    @property
    def _composition(self) -> str:
        return "optimal" if self.rounds <= _EXACT_ROUNDS else "zcdp"

    def choice_epsilon(self, privacy: Privacy) -> float:
        """epsilon0 of one choice, on the host: exactly the number with which `learn` runs."""
        traced = Privacy(at_most(checks.epsilon(float(privacy.epsilon))), at_most(checks.delta(float(privacy.delta))))
        return float(_as_in_programs(self, traced))

    def predict(self, hypothesis: Hypothesis, x: Array) -> Array:
        """``bool[..., 1]``."""
        return self.concepts.predict(hypothesis, x)

    def guarantee(self, privacy: Privacy) -> Guarantee:
        """The larger one of the two parts: a row is in one of them."""
        epsilon, delta = float(privacy.epsilon), float(privacy.delta)
        tests = Guarantee(
            _TEST * epsilon, 0.0, self.neighboring, "are zeros few? (AboveThreshold over the rounds)",
            why="half for the bar's noise, half for the halting test's", rho=pure_rho(_TEST * epsilon),
            source="Dwork and Roth 2014, Theorem 3.23",
        )  # fmt: skip
        choice = exponential_guarantee(self.choice_epsilon(privacy), "a child (exponential mechanism)")
        what = "choices among children"
        plain = basic((choice,), what, rounds=self.rounds)
        if delta > 0 and self.rounds > 1:
            exact = self._composition == "optimal"
            whole = (
                optimal(choice, self.rounds, delta, what=what)
                if exact
                else zcdp((choice,), delta, self.rounds, what=what)
            )
            plain = plain if plain.epsilon <= whole.epsilon else whole
        descent = basic((tests, plain), "descent on the second rows")
        return parallel((self.improper.guarantee(privacy), descent), "index", "proper learner")

    def parts(self, privacy: Privacy, accuracy: Accuracy) -> tuple[int, int]:
        """Rows that the theorem needs of the first and of the second part."""
        epsilon = checks.epsilon(float(privacy.epsilon))
        alpha, beta = (
            checks.probability("alpha", float(accuracy.alpha)),
            checks.probability("beta", float(accuracy.beta)),
        )
        if self.concepts.longest_improper == 0:  # every node is a concept, and the descent never begins
            return self.improper.sample_size(privacy, Accuracy(alpha, beta)), 0
        first = self.improper.sample_size(privacy, Accuracy(alpha / 8, beta / 2))
        walk = self.choice_epsilon(privacy)
        return first, theory.descent(walk, _TEST * epsilon, self.share, self.rounds, alpha, beta / 2)

    def sample_size(self, privacy: Privacy, accuracy: Accuracy) -> int:
        """The least n of which both parts get what `parts` says."""
        first, second = self.parts(privacy, accuracy)
        return int(max(first / self.first, second / (1 - self.first))) + 2

    def hard_neighbors(self, rows: int) -> list[tuple[Sample, Sample]]:
        """Where the start is an improper node: one row turns the balance between two of its children."""
        tree = self.concepts
        improper = np.flatnonzero(~tree.proper)
        if not len(improper) or rows < 4:
            return flipped_label_pairs(tree.domain, rows)
        node = int(improper[-1])
        one, other = (int(child) for child in tree.child[tree.child_start[node] :][:2])
        cut = int(np.float32(rows) * np.float32(self.first))
        half = (rows - cut - 1) // 2
        even = [(node, 1)] * (rows - cut - 1 - 2 * half)
        second = [*even, *[(one, 0), (other, 0)] * half]
        databases = [sample_at(tree, [*[(node, 1)] * cut, *second, (last, 0)]) for last in (one, other)]
        return [(databases[0], databases[1])]


def _best_below(children: Array, found: Counts, before: Array) -> Array:
    """For each child the least ``path`` of a leaf below it, ``int32[V + 1]``; other entries mean nothing.

    before: ``bool[V + 1]``, the nodes up to the last descendant of the last child.
    """
    number = jnp.arange(children.shape[0], dtype=jnp.int32)
    owner = jax.lax.cummax(jnp.where(children, number, 0))
    least = jnp.full(children.shape[0], _NEVER, jnp.int32)
    return least.at[owner].min(jnp.where(found.leaf & before, found.path, _NEVER))


_as_in_programs = jax.jit(lambda learner, privacy: learner._choices(privacy), static_argnums=0)
