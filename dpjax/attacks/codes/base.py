"""Fingerprinting codes: one bit string a user, such that whoever combines some of them can be traced."""

from abc import abstractmethod
from dataclasses import dataclass, field
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.tree_util import register_dataclass

from dpjax.core import checks
from dpjax.core.checks import InputError
from dpjax.core.members import Base, required
from dpjax.core.plans import STATIC

LONGEST = 1 << 26
"""Columns of the longest code that is built."""
MOST_USERS = 1 << 12
_WORD = 32


@register_dataclass
@dataclass(frozen=True)
class Codebook:
    """The code words of n users, with what only the tracer knows.

    columns: ``uint32[ceil(n / 32), k]``; bit i % 32 of word i // 32 of a column is the bit of user i.
    secret: the state that `Code.trace` needs, such as the type or the bias of each column.
    users: n, static.
    """

    columns: Array
    secret: Any
    users: int = field(metadata=STATIC)

    @property
    def bits(self) -> Array:
        """The code words, ``bool[n, k]``: row i is that of user i."""
        return unpacked(self.columns, self.users)


class Code(Base):
    """Base class of fingerprinting codes: a frozen dataclass, equal by value, with n users, k columns, and the
    probability that an innocent user is accused.

    `generate` and `trace` are pure; vmap them over codebooks. A new code is one file: nothing lists codes.

    Soundness: for every coalition of users and every word that is computed from their code words alone, feasible or
    not, `trace` accuses a user outside of the coalition with probability at most ``security``, over all users
    together.

    Reference: Bun, Nissim, Stemmer 2016, Definition 4.1, whose completeness each code states for itself.
    """

    @required
    def users(self) -> int:
        """n, static."""

    @required
    def length(self) -> int:
        """k, the number of columns, static."""

    @required
    def security(self) -> float:
        """xi: probability that any innocent user is accused, in total."""

    @abstractmethod
    def types(self) -> np.ndarray | None:
        """The distinct columns of all codebooks, ``bool[types, n]`` on the host; None if every column can occur."""

    @abstractmethod
    def generate(self, key: Array) -> Codebook:
        """A random codebook. ``key`` is consumed."""

    @abstractmethod
    def trace(self, codebook: Codebook, word: Array) -> Array:
        """The accused users, ``bool[n]``, for a word ``bool[k]``."""


def require_code(code: Any) -> None:
    """Raises InputError unless ``code`` is an instance of a subclass of `Code`."""
    advice = "take dpjax.attacks.BonehShaw or Tardos; a new kind inherits from dpjax.attacks.codes.Code"
    checks.instance("code", code, Code, advice)


def first(accused: Array) -> Array:
    """The first accused user of each set ``bool[..., n]``, ``int32[...]``; -1 if nobody is accused."""
    return jnp.where(jnp.any(accused, axis=-1), jnp.argmax(accused, axis=-1).astype(jnp.int32), -1)


def unpacked(columns: Array, users: int) -> Array:
    """``bool[users, k]`` of columns ``uint32[words, k]``."""
    shifts = jnp.arange(_WORD, dtype=jnp.uint32)[:, None]
    bits = ((columns[:, None, :] >> shifts) & jnp.uint32(1)).astype(bool)
    return bits.reshape(-1, columns.shape[-1])[:users]


def packed(columns: np.ndarray) -> np.ndarray:
    """Host: ``uint32[words, t]`` of t columns ``bool[t, n]``."""
    count, users = columns.shape
    padded = np.pad(columns, ((0, 0), (0, -users % _WORD))).reshape(count, -1, _WORD)
    shifted = padded.astype(np.uint32) << np.arange(_WORD, dtype=np.uint32)
    return np.asarray(np.sum(shifted, axis=-1, dtype=np.uint32)).T


def words_of(users: int) -> int:
    """Words of a column."""
    return -(-users // _WORD)


def check_code(name: str, users: Any, security: Any, least_users: int = 1) -> None:
    """InputError unless there are users from ``least_users`` to 4096 and a security in (0, 1)."""
    checks.integer("users", users, least_users, MOST_USERS)
    if not 0 < checks.number("security", security) < 1:
        advice = "it is the probability that an innocent user is accused, for example 0.05"
        raise InputError("security", "a number in (0, 1)", repr(security), f"{name}: {advice}")


def check_length(name: str, given: Any, needed: int, users: int, security: float) -> None:
    """InputError unless the length is None or at least what the theorem needs, and at most `LONGEST`."""
    if needed > LONGEST:
        advice = f"take fewer users than {users}, or a larger security"
        raise InputError(name, f"a code of at most {LONGEST} columns", f"one of {needed}", advice)
    checks.whole_or_none("length", given, 1, LONGEST)
    if given is not None and given < needed:
        expected = f"k >= {needed} for {users} users at security {security:g} ({name})"
        raise InputError("k", expected, str(given), f"take k = {needed}, fewer users, or a larger security")


def check_word(word: Array, codebook: Codebook, users: int, length: int) -> None:
    """InputError unless the word is ``bool[length]``, and the codebook one of so many users and columns."""
    if codebook.users != users or codebook.columns.shape[-1] != length:
        actual = f"one of {codebook.users} users and {codebook.columns.shape[-1]} columns"
        raise InputError("codebook", f"one of {users} users and {length} columns", actual, "take one of this code")
    if getattr(word, "dtype", None) != jnp.bool_ or np.shape(word) != (length,):
        actual = f"{getattr(word, 'dtype', type(word).__name__)}{list(np.shape(word))}"
        raise InputError("word", f"bool[{length}], a bit for each column", actual, "use vmap for several words")
