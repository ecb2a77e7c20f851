"""How a report names outputs, their numbers, and events."""

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import jax
import numpy as np

from dpjax.audit.outputs.events import INFINITE, MOST_NUMBERS, Event, in_one

LOW_BITS = "low zero bits of "
NO_NUMBER = "not a number"
_NAMED, _SHOWN = 6, 8  # outputs of a set that its description names, and numbers of an output
_WIDEST = 17  # significant digits of a float64
_DIGITS = 9  # of a float32


@dataclass(frozen=True)
class Naming:
    """Names of the numbers that features of an output contain.

    Args:
      names: of the numbers, in order: "output", or for an output of several "output[1]", "output.count".
      center: ``float64[f]``, what was subtracted from each number before it was rounded to float32.
      labels: of outputs that are not numbers, or not only, by their code.
      conditions: the names that are conditions, such as "output['who'] is 'Alice'": their numbers are 0 or 1.
      partial: whether some outputs are not, or lack numbers; they are above every threshold.
    """

    names: Sequence[str]
    center: np.ndarray
    labels: Mapping[int, str] = field(default_factory=dict)
    partial: bool = False
    conditions: frozenset[str] = frozenset()

    @staticmethod
    def of(output: Any, bitwise: bool = False) -> "Naming":
        """Of a pytree of arrays or their shapes, whose numbers are not centered; see `events.features`."""
        leaves = [
            ("output" + jax.tree_util.keystr(path), leaf)
            for path, leaf in jax.tree_util.tree_flatten_with_path(output)[0]
        ]
        names = [name for path, leaf in leaves for name in numbered(path, leaf.shape)]
        if bitwise:
            names += [
                LOW_BITS + name
                for path, leaf in leaves
                if leaf.dtype == np.float32
                for name in numbered(path, leaf.shape)
            ]
        return Naming(names[:MOST_NUMBERS], np.zeros(MOST_NUMBERS))

    def number(self, which: int, value: float) -> str:
        """A number as it was before it was centered, with as many digits as float32 has around the center."""
        if np.isnan(value) or abs(value) >= INFINITE:
            return NO_NUMBER if not value < np.inf else "inf" if value > 0 else "-inf"
        whole = float(self.center[which]) + float(value)
        for digits in range(_DIGITS, _WIDEST):
            text = f"{whole:.{digits}g}"
            if abs(float(text) - whole) <= 1e-8 * abs(float(value)):
                return text
        return f"{whole:.{_WIDEST}g}"

    def output(self, code: int, numbers: Sequence[float]) -> str:
        """An output: its label, its number, (number, ...) of an array, or (name = number, ...)."""
        if (label := self.labels.get(code)) is not None:
            return label
        words = [self.number(which, value) for which, value in enumerate(numbers[:_SHOWN])]
        if len(numbers) == 1:
            return words[0]
        if self.names[: len(words)] != numbered("output", (len(numbers),))[: len(words)]:  # no plain list of numbers
            words = [f"{name} = {word}" for name, word in zip(self.names, words, strict=False)]
        return f"({', '.join(words)}{', ...' * (len(numbers) > _SHOWN)})"

    def event(self, event: Event) -> str:
        """The event as a condition on the output."""
        sign = "<" if bool(event.complement) else ">="
        if event.kind == "cells":
            return self._of_cells(event)
        if event.kind == "coordinate":
            which = event.coordinate
            if (name := self.names[which]) in self.conditions:
                return name if sign == ">=" else f"not: {name}"
            bound = self.number(which, float(event.threshold))
            if bound == NO_NUMBER:
                return f"{self.names[which]} is {self._no_number() if sign == '>=' else 'a number'}"
            others = f", or is {self._no_number()}" * (sign == ">=" and self.partial)
            return f"{self.names[which]} {sign} {bound}{others}"
        if event.kind == "stated":
            return f"stated score {sign} {float(event.threshold):.6g}"
        return f"classifier's log-odds {sign} {float(event.threshold):.4g}"

    def _no_number(self) -> str:
        kinds = sorted({*self.labels.values()})
        return NO_NUMBER + f" ({', '.join(kinds)})" * (0 < len(kinds) <= _NAMED)

    def _of_cells(self, event: Event) -> str:
        inside, rest = event.cells()
        named = np.flatnonzero(inside != rest)
        names = self._outputs(event, named)[:_NAMED]
        if len(names) == 1:
            return f"output is {'not ' * rest}{names[0]}"
        many = f"{len(named)} of the {len(inside)} that were seen in training: " * (len(named) > len(names))
        return f"output is {'none' if rest else 'one'} of {many}{', '.join(names)}{', ...' * bool(many)}"

    def outputs(self, events: Sequence[Event]) -> list[str]:
        """All outputs seen in training that one set of outputs contains; none for other kinds of events."""
        if events[0].kind != "cells":
            return []
        return self._outputs(events[0], np.flatnonzero(in_one([event.cells()[0] for event in events])))

    def every(self, event: Event) -> list[str]:
        """The outputs of a table, in the order of its codes."""
        rows = np.asarray(event.outputs).tolist()
        return [self.output(code, row) for code, row in zip(np.asarray(event.codes).tolist(), rows, strict=True)]

    def _outputs(self, event: Event, places: np.ndarray) -> list[str]:
        codes, numbers = np.asarray(event.codes)[places], np.asarray(event.outputs)[places]
        order = np.lexsort(numbers.T[::-1]) if numbers.size else np.arange(len(codes))
        codes, numbers = codes[order], numbers[order]
        return [self.output(code, row) for code, row in zip(codes.tolist(), numbers.tolist(), strict=True)]


def numbered(name: str, shape: Sequence[int]) -> list[str]:
    """The names of the numbers of an array: name[0], name[1], or name[0, 1]."""
    places = itertools.islice(np.ndindex(*shape), MOST_NUMBERS)
    return [name + f"[{', '.join(map(str, place))}]" * bool(place) for place in places]
