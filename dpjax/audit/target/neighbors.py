"""Whether two databases are neighbors: the number of steps of a relation between them."""

from typing import Any

import jax
import numpy as np

from dpjax.core import checks
from dpjax.core.checks import InputError
from dpjax.core.types import Neighboring, Sample, require_relation

KINDS = ("rows", "counts", "other")
"""Kind of database: rows along the first axis, a histogram, or anything else, whose relation is not checked."""
_NOTICED = 1e-3  # relative change of a difference by rounding that is refused


def as_database(value: Any) -> Any:
    """A database as read-only copies of arrays: numbers and nested sequences become one array, other pytrees keep their
    structure.

    Raises InputError for leaves that are not numbers.
    """
    if isinstance(value, list | tuple) or not hasattr(value, "dtype"):
        try:
            array = np.asarray(value)
        except ValueError:  # ragged: a pytree of arrays
            array = np.asarray(None)
        if array.dtype.kind in "iufb":
            return _fixed(array)
        if isinstance(value, list | tuple) and array.dtype.kind in "US":
            raise _no_numbers(value)
    if not jax.tree.leaves(value):
        raise _no_numbers(value)
    return jax.tree.map(_numbers, value)


def steps(first: Any, second: Any, relation: Neighboring, data: str = "rows", most: int = 1) -> int | None:
    """The number of steps of ``relation`` between two databases; ``most + 1`` for any larger number.

    Args:
      first, second: arrays with rows along the first axis, or lists of rows, which are read as arrays; or `Sample`,
        whose masked rows are ignored.
      data: "rows"; "counts" for histograms; "other" for anything else.
      relation: rows are compared in order. A step replaces one row, or inserts or deletes one; counts do not determine
        the order.

    Returns: None if the data have no rows: numbers without an axis, other pytrees, "other".
    """
    require_relation(relation)
    checks.choice("data", data, KINDS)
    sides = None if data == "other" else _sides(first, second)
    if sides is None:
        return None
    if data == "counts":
        return _between_counts(*sides, relation, most)
    left, right = _numbered(*sides)
    if relation is Neighboring.ADD_OR_REMOVE_ONE:
        return _insertions(left, right, most)
    return min(int(np.sum(left != right)), most + 1) if len(left) == len(right) else most + 1


def require_neighbors(
    name: str, first: Any, second: Any, relation: Neighboring, data: str = "rows", distance: int = 1
) -> bool:
    """Raises InputError for databases that are equal or more than ``distance`` steps apart.

    Returns whether this was checked: False if `steps` is None, so that the relation is the caller's responsibility.
    """
    count = steps(first, second, relation, data, distance)
    if count is None:
        return False
    if not 1 <= count <= distance:
        gap = "two equal databases" if count == 0 else f"more than {distance} step{'s' * (distance > 1)} between them"
        advice = "correct the pair, or name the other relation"
        if data == "rows":
            advice += ", or what the arrays are: data = counts for histograms, other for data without rows"
        raise InputError(name, f"neighbors under {relation.value}", gap, advice)
    return True


def narrow(name: str, database: Any) -> Any:
    """A database in the types that JAX takes, at most 32 bits: floats are rounded, whole numbers must fit."""
    return jax.tree.map(lambda leaf: of_32_bits(name, leaf) if isinstance(leaf, np.ndarray) else leaf, database)


def of_32_bits(name: str, array: np.ndarray) -> np.ndarray:
    """The array in its type of at most 32 bits. InputError for whole numbers that do not fit."""
    if array.dtype.itemsize <= 4:
        return array
    kind = {"i": np.int32, "u": np.uint32, "f": np.float32}[array.dtype.kind]
    with np.errstate(over="ignore"):  # values beyond float32's range become infinite
        converted = array.astype(kind)
    if array.dtype.kind != "f" and not np.array_equal(converted, array):
        wrong = array.flat[int(np.argmax(converted != array))]
        raise InputError(name, "whole numbers that 32 bits hold", str(wrong), "encode them as smaller ones")
    return converted


def require_kept(name: str, first: Any, second: Any) -> None:
    """Raises InputError for two databases of one shape whose difference rounding to float32 changes noticeably."""
    sides = [[np.asarray(leaf) for leaf in jax.tree.leaves(side)] for side in (first, second)]
    for left, right in zip(*sides, strict=False):
        if left.shape != right.shape or {left.dtype.kind, right.dtype.kind} - {"f"} or left.dtype.itemsize <= 4:
            continue
        with np.errstate(invalid="ignore", over="ignore"):
            near = [side.astype(np.float32).astype(np.float64) for side in (left, right)]
            exact, rounded = right - left, near[1] - near[0]
            off = np.isfinite(rounded) & (np.abs(rounded - exact) > _NOTICED * np.abs(exact))
            off |= (near[0] == near[1]) & (left != right)
        if off.any():
            at = int(np.argmax(off.ravel()))
            raise InputError(
                name,
                "databases whose difference float32 keeps, in which JAX computes",
                f"{left.flat[at].item()!r} and {right.flat[at].item()!r}, there {near[0].flat[at]!s} and "
                f"{near[1].flat[at]!s}",
                "subtract a public constant from the data, or audit a NumPy function of a seed or a generator, which "
                "computes in float64",
            )


def same_bytes(one: Any, other: Any) -> bool:
    """Whether two arrays are equal, NaN included."""
    first, second = np.asarray(one), np.asarray(other)
    return first.dtype == second.dtype and first.shape == second.shape and first.tobytes() == second.tobytes()


def _sides(first: Any, second: Any) -> tuple[np.ndarray, np.ndarray] | None:
    """Both databases as arrays of rows; None if one of them is not."""
    arrays = []
    for side in (first, second):
        if isinstance(side, Sample):
            real = np.asarray(side.mask)
            parts = [np.asarray(part)[real].reshape(real.sum(), -1) for part in (side.x, side.y)]
            side = np.concatenate([part.astype(np.int64) for part in parts], axis=1)
        side = as_database(side) if isinstance(side, list | tuple) else side
        array = side if isinstance(side, np.ndarray) or hasattr(side, "dtype") else None
        if array is None or not np.ndim(array):
            return None
        arrays.append(np.asarray(array))
    return arrays[0], arrays[1]


def _between_counts(first: np.ndarray, second: np.ndarray, relation: Neighboring, most: int) -> int:
    if first.shape != second.shape:
        return most + 1
    moves = second.astype(object) - first.astype(object)
    total = int(np.sum(np.abs(moves)))
    if relation is Neighboring.REPLACE_ONE:
        total = total // 2 if np.sum(moves) == 0 else most + 1
    return min(total, most + 1)


def _numbered(first: np.ndarray, second: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Both databases with an index per row, equal for rows of equal bytes."""
    if first.shape[1:] != second.shape[1:]:
        actual = f"{first.shape[1:]} and {second.shape[1:]}"
        raise InputError("pairs", "rows of one shape in both databases", actual, "give both sides the same columns")
    kind = np.result_type(first, second)
    joint = np.ascontiguousarray(np.concatenate([first.astype(kind), second.astype(kind)]))
    if not joint.size:
        return np.zeros(len(first), np.int64), np.zeros(len(second), np.int64)
    raw = joint.reshape(len(joint), -1).view(np.uint8)
    codes = np.unique(raw.view(f"V{raw.shape[1]}").ravel(), return_inverse=True)[1].ravel()
    return codes[: len(first)], codes[len(first) :]


def _insertions(one: np.ndarray, other: np.ndarray, most: int) -> int:
    """Number of insertions and deletions from one sequence to the other, by Myers' greedy algorithm, up to ``most``."""
    size, goal = len(one), len(other)
    reach = {1: 0}  # per diagonal: the position in ``one`` reached with this many steps
    for count in range(most + 1):
        for diagonal in range(-count, count + 1, 2):
            down = diagonal == -count or (diagonal != count and reach[diagonal - 1] < reach[diagonal + 1])
            x = reach[diagonal + 1] if down else reach[diagonal - 1] + 1
            while x < size and x - diagonal < goal and one[x] == other[x - diagonal]:
                x += 1
            reach[diagonal] = x
            if x >= size and x - diagonal >= goal:
                return count
    return most + 1


def _numbers(leaf: Any) -> Any:
    array = _fixed(np.asarray(leaf))
    if array.dtype.kind not in "iufb":
        raise _no_numbers(leaf)
    return array


def _fixed(array: np.ndarray) -> np.ndarray:
    """A copy that nobody can change."""
    copy = np.array(array)
    copy.flags.writeable = False
    return copy


def _no_numbers(value: Any) -> InputError:
    return InputError("database", "arrays of numbers", repr(value)[:200], "encode it as numbers")
