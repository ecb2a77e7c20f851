"""Soundness and completeness of a code against a strategy of pirates, measured over many codebooks."""

from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from dpjax.attacks import pirates
from dpjax.attacks.codes.base import Code, require_code
from dpjax.attacks.pirates import Pirate
from dpjax.attacks.rates import Rate
from dpjax.core import checks, keys
from dpjax.core.checks import InputError

_TILE = 256  # codebooks of a call; the last call's surplus is dropped


@dataclass(frozen=True)
class Piracy:
    """Rates at which pirated words are feasible, missed and traced.

    feasible: the word satisfies the marking assumption. missed: it does and nobody is accused (completeness fails).
    innocent: somebody outside of the coalition is accused (soundness fails). guilty: a member is accused.
    """

    feasible: Rate
    missed: Rate
    innocent: Rate
    guilty: Rate


def measure(
    code: Code,
    pirate: Pirate,
    coalition: int,
    codebooks: int,
    seed: int = 0,
    confidence: float = 0.95,
    any_word: bool = False,
) -> Piracy:
    """The first ``coalition`` users combine their code words, in ``codebooks`` independent codebooks.

    Args:
      pirate: a function (key, bits, members) -> word, static; equal by identity, so define it once.
      coalition: in [1, n].
      any_word: measures soundness for words that violate the marking assumption. Otherwise such a word is an
        InputError that names a column.
      confidence: of each interval.
    """
    require_code(code)
    checks.integer("coalition", coalition, 1, code.users)
    checks.integer("codebooks", codebooks, 1)
    checks.probability("confidence", confidence)
    root, parts = keys.root(seed), []
    for first in range(0, codebooks, _TILE):
        batch = _tile(code, pirate, root, jnp.int32(coalition), jnp.uint32(first), min(_TILE, codebooks))
        parts.append(jax.tree.map(np.asarray, batch))
    accused, broken = (np.concatenate(part)[:codebooks] for part in zip(*parts, strict=True))
    if np.any(broken >= 0) and not any_word:
        trial = int(np.argmax(broken >= 0))
        expected = "a bit that some member has, in every column"
        advice = "correct the strategy, or give any_word=True for soundness alone"
        raise InputError("word", expected, f"another one in column {broken[trial]} of codebook {trial}", advice)
    innocent, guilty = np.any(accused[:, coalition:], axis=1), np.any(accused[:, :coalition], axis=1)
    events = broken < 0, (broken < 0) & ~innocent & ~guilty, innocent, guilty
    return Piracy(*(Rate.of(event, confidence) for event in events))


def _trials(code: Code, pirate: Pirate, root: Array, coalition: Array, first: Array, count: int) -> Any:
    """Accused users ``bool[count, n]``, and the first column that violates the marking assumption, -1 for none."""
    members = jnp.arange(code.users, dtype=jnp.int32) < coalition

    def one(trial: Array) -> tuple[Array, Array]:
        of_code, of_pirate = keys.streams(keys.of_trial(root, trial), "codebook", "pirate")
        codebook = code.generate(of_code)
        word = pirate(of_pirate, codebook.bits, members)
        return code.trace(codebook, word), pirates.first_infeasible(codebook.bits, members, word)

    trials = first + jnp.arange(count, dtype=jnp.uint32)
    at_once = max(1, min(16, (1 << 22) // (code.length * code.users)))
    return jax.lax.map(one, trials, batch_size=at_once)


_tile = jax.jit(_trials, static_argnums=(0, 1, 5))
