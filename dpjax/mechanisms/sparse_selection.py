"""Sparse selection: one candidate from many short lists, each made from rows of its own."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from dpjax.accounting.guarantee import Guarantee
from dpjax.core.checks import InputError, short
from dpjax.core.draws import asked
from dpjax.core.types import Neighboring
from dpjax.laws import Categorical
from dpjax.mechanisms.choosing import choosing, choosing_guarantee

_LARGEST = 2**60  # a sensitivity is a float


class Tally(NamedTuple):
    """The distinct names on the lists, ascending; slot r holds the r-th one, later slots are empty.

    names ``uint32[s, words]``. lists ``int32[s]``: the number of lists that contain the name, 0 in an empty slot.
    """

    names: Array
    lists: Array


def tally(names: Array, valid: Array) -> Tally:
    """Counts the lists that contain each name; a list that repeats a name counts once.

    names ``uint32[m, l, words]``: m lists of l entries. valid ``bool[m, l]``: the entries that are filled.
    """
    shaped = names.ndim == 3 and valid.shape == names.shape[:2] and 0 not in names.shape
    if not shaped or names.dtype != jnp.uint32 or valid.dtype != jnp.bool_:
        actual = f"{names.dtype}{list(names.shape)} and {valid.dtype}{list(valid.shape)}"
        raise InputError("lists", "names uint32[m, l, words], m and l >= 1, and valid bool[m, l]", actual, "pad lists")
    m, length, words = names.shape
    size = m * length
    owner = jnp.repeat(jnp.arange(m, dtype=jnp.int32), length)
    columns = [names[:, :, i].reshape(size) for i in range(words)]
    missing, *columns, owner = jax.lax.sort((~valid.reshape(size), *columns, owner), num_keys=words + 2)
    stacked = jnp.stack(columns, axis=1)
    first = jnp.ones(1, bool)
    new_name = ~missing & jnp.concatenate([first, jnp.any(stacked[1:] != stacked[:-1], axis=1)])
    new_entry = ~missing & (new_name | jnp.concatenate([first, owner[1:] != owner[:-1]]))
    slot = jnp.where(missing, size, jnp.cumsum(new_name, dtype=jnp.int32) - 1)  # the slot ``size`` is dropped
    lists = jnp.zeros(size, jnp.int32).at[slot].add(new_entry.astype(jnp.int32), mode="drop")
    return Tally(jnp.zeros_like(stacked).at[slot].set(stacked, mode="drop"), lists)


def sparse_selection(
    names: Array,
    valid: Array,
    epsilon: Array | float,
    delta: Array | float,
    *,
    neighboring: Neighboring = Neighboring.REPLACE_ONE,
) -> tuple[Categorical, Tally]:
    """Chooses one of the names that occur, or abstains: the choosing mechanism on the number of lists of each name.

    Args:
      names: ``uint32[m, l, words]``, m lists of at most l names; **each list must depend on rows of its own**, so that
        neighbors differ in one list. Under ADD_OR_REMOVE_ONE that list is empty in one of them.
      valid: ``bool[m, l]``, the filled entries.
      epsilon: traced scalar > 0.
      delta: traced scalar in (0, 1).

    Returns: the law of the slot, a Categorical on {0..m l - 1, abstain}, and the names in the slots.

    Privacy: (epsilon, delta) under ``neighboring``: one list changes, which moves the count of a name by at most 1 and
      makes at most l names appear. `sparse_selection_guarantee`.
    Utility: with r = epsilon / 2, d the lesser of delta and e^r - 1, and gate = 1 + ln(l / d) / r, it abstains with
      probability at most exp(-r (max - gate)); the chosen name is on more than max - ln(m l / beta) / r lists with
      probability 1 - beta.
    Reference: the sparse selection problem of Ghazi, Golowich, Kumar, Manurangsi 2021; mechanism and constants are
      those of `choosing`.
    """
    tallied = tally(names, valid)
    return choosing(tallied.lists, epsilon, delta, growth=names.shape[1], neighboring=neighboring), tallied


def selection_by_count(
    names_on: Array,
    epsilon: Array | float,
    delta: Array | float,
    length: int,
    *,
    neighboring: Neighboring = Neighboring.REPLACE_ONE,
) -> Categorical:
    """On how many lists the name is that `sparse_selection` chooses, where the lists are no arrays.

    Args:
      names_on: ``int32[m + 1]``, how many names are on exactly 0, 1, ..., m lists.
      length: static, >= 1; the names on a list at most, of any size. Others as in `sparse_selection`.

    Returns: a Categorical on {0..m, abstain}, never 0.

    Privacy: that of `sparse_selection`, if the name is drawn uniformly from those on so many lists: the same law.
    """
    lists = jnp.arange(names_on.shape[0], dtype=jnp.int32)
    # of one list ``length`` names go and ``length`` others come, each from one entry to the next
    names_on = asked(names_on, "selection by count", min(4 * length, _LARGEST), "sum")
    return choosing(lists, epsilon, delta, growth=length, many=names_on, neighboring=neighboring)


def sparse_selection_guarantee(
    epsilon: float, delta: float, length: int, neighboring: Neighboring = Neighboring.REPLACE_ONE
) -> Guarantee:
    """The guarantee of `sparse_selection` from lists of at most ``length`` >= 1 names."""
    what = f"sparse selection from lists of at most {short(length)} names"
    return choosing_guarantee(epsilon, delta, growth=length, neighboring=neighboring, what=what)
