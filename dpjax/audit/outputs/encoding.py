"""Outputs of code on the host as features: any Python value is an outcome, and its numbers are compared in float64."""

import dataclasses
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from dpjax.audit.outputs.events import INFINITE, MOST_NUMBERS
from dpjax.audit.outputs.naming import LOW_BITS, Naming, numbered
from dpjax.core.checks import InputError

_SPREAD = 2.0**-12  # of its size: a number that varies less is centered before it is rounded to float32
_PLAIN = frozenset({bool, int, float, np.bool_, *(np.dtype(kind).type for kind in "bhilBHILefd")})
_BLOCK = 1 << 18  # numbers that are hashed at once: they fit in a processor's cache
_NAMED = 6  # numbers that a remark names
_LABELS, _LONG = 1 << 16, 60  # labels that are kept, and characters of one
_WORDS = 16  # words that have a feature of their own
_FIRST_PRIME, _SECOND_PRIME = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_STEP = np.uint64(0x9E3779B97F4A7C15)


@dataclasses.dataclass(frozen=True)
class Raised:
    """The outcome of code that raises; outcomes are equal if their types are."""

    error: BaseException
    seed: int

    def fault(self) -> InputError:
        """The error as one that the person has to correct, where it says nothing about the databases."""
        message = f"{type(self.error).__name__}: {self.error}, with the seed {self.seed}"
        advice = 'call it once by hand; a function (database, key) of JAX needs randomness="key"'
        fault = InputError("function", "(database, seed) -> an output", message, advice)
        fault.__cause__ = self.error
        return fault


@dataclasses.dataclass
class _Parts:
    """The parts of one output: its form, its words with their names, and its numbers with their names."""

    form: list[str] = dataclasses.field(default_factory=list)
    words: list[tuple[str, str]] = dataclasses.field(default_factory=list)
    numbers: list[np.ndarray] = dataclasses.field(default_factory=list)
    names: list[str] = dataclasses.field(default_factory=list)

    def add(self, name: str, value: Any) -> None:
        """Adds ``value`` and everything in it. InputError for objects that are no plain data."""
        if isinstance(value, Raised):
            self._word(name, f"raised {type(value.error).__name__}")
        elif value is None or isinstance(value, str | bytes):
            self._word(name, repr(value))
        elif isinstance(value, int) and not isinstance(value, bool) and not -(2**63) <= value < 2**64:
            self._word(name, str(value))
        elif isinstance(value, Mapping):
            self._all(name, "mapping", [(f"{name}[{key!r}]", part) for key, part in value.items()])
        elif hasattr(value, "to_numpy") and hasattr(value, "columns"):  # a table of pandas or polars
            columns = [(f"{name}[{key!r}]", value[key].to_numpy()) for key in value.columns]
            self._all(name, "table", [*columns, *self._index(name, value)])
        elif hasattr(value, "to_numpy"):
            self._all(name, "column", [(name, value.to_numpy()), *self._index(name, value)])
        elif isinstance(value, np.ma.MaskedArray):
            data, mask = np.ma.getdata(value), np.ma.getmaskarray(value)
            self._all(name, "masked", [(name, np.where(mask, 0, data)), (f"mask of {name}", mask)])
        elif isinstance(value, set | frozenset):
            self._word(name, f"{{{', '.join(sorted(map(repr, value)))}}}")
        elif isinstance(value, list | tuple) and not {*map(type, value)} <= _PLAIN:
            self._all(name, "sequence", [(f"{name}[{place}]", part) for place, part in enumerate(value)])
        elif dataclasses.is_dataclass(value) and not isinstance(value, type):
            members = [(f"{name}.{field.name}", getattr(value, field.name)) for field in dataclasses.fields(value)]
            self._all(name, type(value).__name__, members)
        else:
            self._array(name, np.asarray(value), value)

    def _array(self, name: str, array: np.ndarray, value: Any) -> None:
        if array.dtype.kind in "Mm":
            array = array.view(np.int64)
        if array.dtype.kind == "c":
            both = [(f"real part of {name}", array.real), (f"imaginary part of {name}", array.imag)]
            self._all(name, "complex", both)
        elif array.dtype.kind in "USO" and array.ndim:
            self._all(name, f"array{array.shape}", [(name, part) for part in array.ravel().tolist()])
        elif array.dtype.kind in "US":
            self._word(name, repr(array.item()))
        elif array.dtype.kind in "biuf":
            self.form.append(f"{name}{array.shape}")
            self.numbers.append(array.ravel())
            if len(self.names) < MOST_NUMBERS:
                self.names += numbered(name, array.shape)
        else:
            expected = "a number, a word, or an array, list, dictionary or table of these"
            advice = "return the part of it that is published"
            raise InputError("function", expected, f"{type(value).__module__}.{type(value).__name__}", advice)

    def _word(self, name: str, word: str) -> None:
        self.form.append(f"{name}: word")
        self.words.append((name, word))

    def _all(self, name: str, kind: str, parts: Sequence[tuple[str, Any]]) -> None:
        self.form.append(f"{name}: {kind} of {len(parts)}")
        for part_name, part in parts:
            self.add(part_name, part)

    @staticmethod
    def _index(name: str, value: Any) -> list[tuple[str, Any]]:
        return [(f"index of {name}", value.index.to_numpy())] if hasattr(value, "index") else []


class Encoding:
    """Turns outputs into features: the numbers of those that have the form of most of the examples, and for the most
    frequent words of these whether an output has the word.

    Args:
      examples: some outputs on the two databases that are compared. A number that varies by less than 2^-12 of its size
        is centered at one of them, in float64, before it is rounded to float32.
      bitwise: adds the number of low zero bits of each number, as float64.
    """

    def __init__(self, examples: Sequence[Any], bitwise: bool = False):
        parts = [_parts(entry) for entry in examples]
        forms = [entry.form for entry in parts]
        usual = max(parts, key=lambda entry: (bool(entry.numbers), forms.count(entry.form)))
        self.form, self.bitwise = usual.form, bitwise
        self._shape = np.shape(next(example for example, entry in zip(examples, parts, strict=True) if entry is usual))
        regular = [entry for entry in parts if entry.form == usual.form]
        counts = Counter(word for entry in regular for word in entry.words)
        self._words = [word for word, _ in counts.most_common(_WORDS)]
        most = MOST_NUMBERS - len(self._words)
        names = usual.names[:most]
        self.whole = len(names) == sum(part.size for part in usual.numbers) and not usual.words
        if not names and not self._words:  # at least one number, of no meaning
            names = ["output"]
        self._center = _center(np.stack([_joined(entry.numbers)[: len(names)] for entry in regular]), len(names))
        if bitwise:
            names = [*names, *(LOW_BITS + name for name in names)][:most]
        conditions = [f"{name} is {word}" for name, word in self._words]
        names = [*names, *conditions]
        self.labels: dict[int, str] = {}
        center = np.concatenate([self._center, np.zeros(len(names))])[: len(names)]
        self.naming = Naming(names, center, self.labels, conditions=frozenset(conditions))
        self.raised: dict[str, Raised] = {}

    @property
    def remark(self) -> str:
        """How an output is read, if it is no number and no array of numbers; else nothing."""
        if len(self.form) == 1 and not self.form[0].endswith("word"):
            return ""
        unlike = {"output", *self.naming.conditions}
        numbers = [name for name in self.naming.names if name not in unlike and not name.startswith(LOW_BITS)]
        return "by its form and text" + f", and by its numbers {', '.join(numbers[:_NAMED])}" * bool(numbers)

    def merged(self, codes: np.ndarray, numbers: np.ndarray) -> str:
        """What rounding to float32 does to outputs, if it keeps less than half of them apart; else nothing.

        Sets of outputs tell them apart nonetheless, thresholds do not.
        """
        before = len(np.unique(codes))
        if not self.whole or self.bitwise or (after := len(np.unique(numbers, axis=0))) >= before / 2:
            return ""
        return f"of {before} different outputs of the training, float32 keeps {after} apart: subtract a public constant"

    def read(self, outputs: Sequence[Any]) -> tuple[np.ndarray, np.ndarray]:
        """Codes ``uint32[t]``, equal for equal outputs, and numbers ``float32[t, f]``."""
        if not len(outputs):
            return np.zeros(0, np.uint32), np.zeros((0, len(self.naming.names)), np.float32)
        array = _as_array(outputs)
        if array is not None and self.form == [f"output{array.shape[1:]}"]:
            rows = array.reshape(len(array), -1)
            step = max(1, _BLOCK // rows.shape[1])
            blocks = [_codes(rows[at : at + step], np.uint64(0)) for at in range(0, len(rows), step)]
            codes = np.concatenate(blocks)
            if rows.shape[1] == 1:
                self._label_numbers(codes, rows[:, 0])
            return codes, self._numbers(rows)
        entries = []
        for output in outputs:
            parts = _parts(output)
            row, regular = _joined(parts.numbers), parts.form == self.form
            seed = np.uint64(0) if regular and not parts.words else _seed(parts, regular)
            code = int(_codes(row[None], seed)[0])
            known = regular and (row.size or self._words)
            entries.append((code, self._numbers(row[None], parts.words)[0] if known else self._none()))
            if parts.words or not regular:
                self._label(code, output)
            if isinstance(output, Raised):
                self.raised.setdefault(type(output.error).__name__, output)
        return np.array([code for code, _ in entries], np.uint32), np.stack([numbers for _, numbers in entries])

    @property
    def in_arrays(self) -> bool:
        """Whether most outputs are numbers or arrays of numbers."""
        return not self.remark and not self.form[0].endswith("word")

    def usual(self, outputs: Sequence[Any]) -> tuple[np.ndarray, np.ndarray]:
        """The places of outputs that have the form of most, and these as one array; see `in_arrays`."""
        array = _as_array(outputs)
        if array is not None and self.form == [f"output{array.shape[1:]}"]:
            return np.arange(len(array)), array
        rows = [place for place, output in enumerate(outputs) if _parts(output).form == self.form]
        arrays = [np.asarray(outputs[place]) for place in rows]
        return np.array(rows, np.int64), np.stack(arrays) if arrays else np.zeros((0, *self._shape))

    def _label(self, code: int, output: Any) -> None:
        if code not in self.labels and len(self.labels) < _LABELS:
            text = " ".join(repr(output).split())
            text = f"raised {type(output.error).__name__}" if isinstance(output, Raised) else text
            self.labels[code] = text if len(text) <= _LONG else f"{text[:_LONG]}..."

    def _label_numbers(self, codes: np.ndarray, numbers: np.ndarray) -> None:
        """Labels numbers that features do not hold: NaN, and whole ones that float64 rounds."""
        odd = np.isnan(numbers) if numbers.dtype.kind == "f" else np.abs(numbers.astype(np.float64)) >= 2.0**53
        for at in np.unique(codes[odd], return_index=True)[1] if odd.any() else ():
            self._label(int(codes[odd][at]), numbers[odd][at].item())

    def _none(self) -> np.ndarray:
        return np.full(len(self.naming.names), np.inf, np.float32)

    def _numbers(self, rows: np.ndarray, words: Sequence[tuple[str, str]] = ()) -> np.ndarray:
        """``float32[t, f]``: centered in float64 and rounded; 1 for each word that rows have. See `events.ordered`."""
        first = rows[:, : len(self._center)]
        near = np.clip(first - self._center, -INFINITE, INFINITE)
        centered = np.where(np.isnan(near), np.inf, near).astype(np.float32)
        if self.bitwise:
            centered = np.concatenate([centered, _low_zeros(first.astype(np.float64))], axis=1)
        has = np.array([[word in words for word in self._words]] * len(rows), np.float32).reshape(len(rows), -1)
        return np.concatenate([centered[:, : len(self.naming.names) - len(self._words)], has], axis=1)


def _parts(output: Any) -> _Parts:
    parts = _Parts()
    parts.add("output", output)
    return parts


def as_outputs(name: str, outputs: Any) -> Any:
    """Outputs as an array of numbers with a row for each, or as a list. InputError for what is neither."""
    if hasattr(outputs, "to_numpy") and not hasattr(outputs, "columns"):
        outputs = outputs.to_numpy()
    if isinstance(outputs, list | tuple) and {*map(type, outputs)} <= {list, tuple, np.ndarray}:
        try:
            outputs = np.asarray(outputs)
        except ValueError:  # of several shapes
            return outputs
    array = outputs if isinstance(outputs, list | tuple) else np.asarray(outputs)
    if not np.ndim(array) and not isinstance(outputs, list | tuple):
        raise InputError(name, "a list or an array, one output a row", "one value", "give the outputs of many runs")
    return array if isinstance(array, list | tuple) or array.dtype.kind in "biuf" else list(array)


def _as_array(outputs: Sequence[Any]) -> np.ndarray | None:
    """Outputs that are numbers, or arrays of numbers of one shape, as one array; None for any others."""
    if isinstance(outputs, np.ndarray):
        return outputs if outputs.size else None
    kinds = {*map(type, outputs)}
    if not kinds <= _PLAIN and kinds != {np.ndarray}:
        return None
    if np.ndarray in kinds and len({(value.shape, value.dtype.kind in "biuf") for value in outputs}) > 1:
        return None
    try:
        array = np.asarray(outputs)
    except OverflowError:
        return None
    if array.dtype.kind == "f" and int in kinds and any(abs(value) > 2**53 for value in outputs if type(value) is int):
        return None
    return array if array.dtype.kind in "biuf" and array.size else None


def _joined(parts: Sequence[np.ndarray]) -> np.ndarray:
    """All numbers of an output; whole ones stay whole where they all are."""
    return np.concatenate(parts) if parts else np.zeros(0)


def _center(rows: np.ndarray, count: int) -> np.ndarray:
    """Of each number: one of its values if it varies little, else 0; ``float64[count]``."""
    if not rows.size:
        return np.zeros(count)
    rows = np.sort(rows.astype(np.float64), axis=0)
    low, middle, high = (rows[int(share * (len(rows) - 1))] for share in (0.25, 0.5, 0.75))
    with np.errstate(invalid="ignore", over="ignore"):
        narrow = np.isfinite(low) & np.isfinite(high) & (high - low < _SPREAD * np.abs(middle))
    return np.where(narrow, middle, 0.0)


def _codes(rows: np.ndarray, seed: np.uint64) -> np.ndarray:
    """A hash of each row of numbers, ``uint32[t]``: equal numbers have equal hashes, whatever their types."""
    with np.errstate(invalid="ignore"):
        wide = np.where(np.isnan(rows), np.nan, rows) if rows.dtype.kind == "f" else rows
        wide = wide.astype(np.float64)
        words = np.ascontiguousarray(wide).view(np.uint64)
        if rows.dtype.kind in "iu" and rows.dtype.itemsize == 8:  # what float64 rounds away
            words = words ^ np.where(np.abs(wide) < 2.0**53, np.uint64(0), _mixed(rows.astype(np.uint64)))
    place = np.arange(1, words.shape[1] + 1, dtype=np.uint64) * _STEP
    total = _mixed(np.asarray(np.sum(_mixed(words ^ place), axis=1, dtype=np.uint64) + seed))
    return (total >> np.uint64(32)).astype(np.uint32)


def _seed(parts: _Parts, regular: bool) -> np.uint64:
    text = "\n".join([*([] if regular else parts.form), "", *(word for _, word in parts.words)]).encode()
    padded = np.frombuffer(text + bytes(-len(text) % 8), np.uint64)
    place = np.arange(1, len(padded) + 1, dtype=np.uint64) * _FIRST_PRIME
    return np.uint64(np.sum(_mixed(padded ^ place), dtype=np.uint64) + np.uint64(len(text)))


def _mixed(word: np.ndarray) -> np.ndarray:
    """The finalizer of SplitMix64."""
    word = (word ^ (word >> np.uint64(30))) * _FIRST_PRIME
    word = (word ^ (word >> np.uint64(27))) * _SECOND_PRIME
    return word ^ (word >> np.uint64(31))


def _low_zeros(numbers: np.ndarray) -> np.ndarray:
    """Number of zero bits below the lowest set bit of a float64; 64 for zero."""
    bits = np.ascontiguousarray(numbers).view(np.uint64)
    return np.bitwise_count((bits & (~bits + np.uint64(1))) - np.uint64(1)).astype(np.float32)
