"""A privacy guarantee as a small tree: the guarantee of each part, and the reason why the parts give the whole."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from dpjax.accounting.numeric.ranges import non_negative
from dpjax.core import checks
from dpjax.core.checks import InputError
from dpjax.core.html import Markup, element
from dpjax.core.types import Neighboring, require_relation


@checks.named_arguments
@dataclass(frozen=True)
class Guarantee:
    """(epsilon, delta)-differential privacy of one algorithm, and its derivation.

    Args:
      epsilon: in [0, inf).
      delta: in [0, 1).
      neighboring: the relation under which it holds.
      what: the algorithm, in a few words.
      why: how the parts compose, or what the mechanism is calibrated to.
      parts: the guarantees of the parts.
      rounds: how often each part runs.
      rho: if given, the algorithm is also rho-zCDP (delta does not apply to it).
      bounded_range: if given, the algorithm is also bounded-range with this parameter.
      distance: the number of neighboring steps between the two databases; 1 except for group privacy.
      source: paper and theorem.
      contract: "ideal" (holds in real arithmetic) or "lattice" (integer output with an exact pmf).

    Reference: Dwork, McSherry, Nissim, Smith 2006; Bun, Nissim, Stemmer 2016, Definition 2.15; Bun, Gaboardi, Sivakumar
      2021, Definition 2.1; Kaplan, Mansour, Matias, Stemmer 2019, Definitions 1.1 and 2.9; Yan 2025, Definitions 1
      and 9.
    """

    epsilon: float
    delta: float
    neighboring: Neighboring
    what: str
    why: str = ""
    parts: tuple[Guarantee, ...] = ()
    rounds: int = 1
    rho: float | None = None
    bounded_range: float | None = None
    distance: int = 1
    source: str = ""
    contract: str = "ideal"

    def __post_init__(self):
        for name, value in (("epsilon", self.epsilon), ("rho", self.rho), ("bounded_range", self.bounded_range)):
            if value is not None:
                non_negative(name, value)
        if not 0 <= checks.number("delta", self.delta) < 1:
            advice = "this is not a privacy guarantee: use fewer rounds, or parts with a smaller delta"
            raise InputError("delta", "a total in [0, 1)", repr(self.delta), advice)
        require_relation(self.neighboring)
        for name in ("what", "why", "source"):
            checks.instance(name, getattr(self, name), str, "give words")
        for part in self.parts if isinstance(self.parts, tuple) else [self.parts]:
            checks.instance("parts", part, Guarantee, "give a tuple of guarantees")
        checks.integer("rounds", self.rounds, 1)
        checks.integer("distance", self.distance, 1)
        checks.choice("contract", self.contract, ("ideal", "lattice"))

    def covers(self, other: Guarantee) -> bool:
        """True if ``other`` implies this (epsilon, delta): same relation, no smaller distance, nothing larger.

        ``False`` may also mean that the two are not comparable, as under different relations.
        """
        return (
            self.neighboring is other.neighboring
            and self.distance <= other.distance
            and self.epsilon >= other.epsilon
            and self.delta >= other.delta
        )

    def to_dict(self) -> dict[str, Any]:
        """The tree as JSON-ready nested dictionaries; unset optional fields are left out."""
        entry = {
            "what": self.what,
            "epsilon": self.epsilon,
            "delta": self.delta,
            "neighboring": self.neighboring.value,
            "contract": self.contract,
        }
        optional = {
            "why": self.why,
            "source": self.source,
            "rho": self.rho,
            "bounded_range": self.bounded_range,
            "rounds": None if self.rounds == 1 else self.rounds,
            "distance": None if self.distance == 1 else self.distance,
            "parts": [part.to_dict() for part in self.parts],
        }
        return entry | {name: value for name, value in optional.items() if value not in (None, "", [])}

    def __str__(self) -> str:
        """The tree: one line per part, with the reason for a sum above its parts."""
        return "\n".join(self._lines(1, None))

    def _repr_html_(self) -> str:
        """The same tree for a notebook."""
        return element("ul", self._item(1, None))

    def _item(self, rounds: int, above: Neighboring | None) -> Markup:
        head, reason = self._words(rounds, above)
        parts = [part._item(self.rounds, self.neighboring) for part in self.parts]
        return element("li", head, *([element("br"), reason] * bool(reason)), *([element("ul", *parts)] * bool(parts)))

    def _words(self, rounds: int, above: Neighboring | None) -> tuple[str, str]:
        """The guarantee and its reason."""
        head = f"{rounds} x {self.what}" if rounds > 1 else self.what
        head += f": ({self.epsilon:.6g}, {self.delta:.6g})-DP"
        if self.rho is not None:
            head += f", {self.rho:.6g}-zCDP"
        if self.neighboring is not above:
            head += f", {self.neighboring.value}"
        if self.distance > 1:
            head += f" at distance {self.distance}"
        if self.contract == "lattice":
            head += ", lattice"
        return head, (self.why + (f" [{self.source}]" if self.source else "")).strip()

    def _lines(self, rounds: int, above: Neighboring | None) -> list[str]:
        head, reason = self._words(rounds, above)
        lines = [head]
        if reason:
            lines.append(("│  " if self.parts else "   ") + reason)
        for index, part in enumerate(self.parts):
            last = index == len(self.parts) - 1
            first, *rest = part._lines(self.rounds, self.neighboring)
            lines.append(("└─ " if last else "├─ ") + first)
            lines += [("   " if last else "│  ") + line for line in rest]
        return lines


def same_relation(parts: tuple[Guarantee, ...]) -> tuple[Neighboring, int]:
    """The relation and distance that all parts share; InputError for an empty or mixed collection."""
    if not parts:
        raise InputError("parts", "at least one guarantee", "none", "give the guarantees to compose")
    kinds = {(part.neighboring, part.distance) for part in parts}
    if len(kinds) > 1:
        actual = "; ".join(f"{part.what}: {part.neighboring.value} at distance {part.distance}" for part in parts)
        advice = "convert with as_replace_one or group: a replaced row is one removed and one added"
        raise InputError("parts", "one neighboring relation and one distance", actual, advice)
    return kinds.pop()


def same_contract(parts: tuple[Guarantee, ...]) -> str:
    """ "lattice" if every part has an exact pmf, otherwise "ideal"."""
    return "lattice" if all(part.contract == "lattice" for part in parts) else "ideal"


def composition(
    parts: tuple[Guarantee, ...], rounds: int, epsilon: float, delta: float, what: str, why: str, source: str
) -> Guarantee:
    """``rounds`` adaptive runs of each part, under their relation; zCDP parameters add if every part states one."""
    relation, distance = same_relation(parts)
    rhos = [part.rho for part in parts if part.rho is not None]
    rho = rounds * math.fsum(rhos) if len(rhos) == len(parts) else None
    contract = same_contract(parts)
    return Guarantee(
        epsilon, delta, relation, what, why, parts, rounds, rho, distance=distance, source=source, contract=contract
    )
