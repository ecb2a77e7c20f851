"""Hypotheses learned from a table: descriptions, a file that contains no row, and predictions on other tables."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from dpjax.concepts.hypothesis import Hypothesis
from dpjax.concepts.outside import describe
from dpjax.core import checks
from dpjax.core.checks import InputError
from dpjax.core.documents import parse_json
from dpjax.core.files import read_bytes
from dpjax.experiments.config.builder import LEARNERS, Builder
from dpjax.experiments.config.packed import require_tables
from dpjax.experiments.config.to_spec import spec_of
from dpjax.tables import places
from dpjax.tables.columns import predicted
from dpjax.tables.grids import RANGE, Placing

KIND = "dpjax learned hypotheses, form 1"
_DESCRIBED = 64  # concepts whose descriptions are tried
_BLOCK = 1 << 22  # rows x concepts per block of predictions


@dataclass(frozen=True)
class Learned:
    """k hypotheses and the data needed to apply them.

    learner: predicts. placing: of the features. names: of the concepts. positive: the label that 1 stands for, if
    labels were words.
    """

    learner: Any
    hypothesis: Any
    placing: Placing
    names: tuple[str, ...]
    positive: str | None = None

    def rules(self) -> list[dict[str, Any]]:
        """Per concept: name, outcome and a description, in the columns' units if its class supports that.

        Otherwise the description is about elements of the grid. A concept of a line that is an interval has
        ``interval``, a shape ``pieces``.
        """
        concepts = self.learner.concepts
        said = describe(concepts, self.hypothesis, self.placing.rule)
        rows = [self._in_units(j, name, text) for j, (name, text) in enumerate(zip(self.names, said, strict=True))]
        if self.placing.shape:
            rows[0] |= places.pieces_of(concepts, self.hypothesis, self.placing.grids)
        return rows

    def predict(self, values: Sequence[np.ndarray]) -> np.ndarray:
        """``bool[n, k]`` for rows given by each feature's finite values ``float64[n]``, clipped to the bounds."""
        x = self.placing.elements(values)
        program = jax.jit(lambda hypothesis, rows: predicted(self.learner, hypothesis, rows))
        block = max(1, min(len(x), _BLOCK // len(self.names)))
        labels = []
        for start in range(0, len(x), block):
            rows = x[start : start + block]
            padded = np.concatenate([rows, np.zeros((block - len(rows), *rows.shape[1:]), rows.dtype)])
            labels.append(np.asarray(program(self.hypothesis, jnp.asarray(padded)))[: len(rows)])
        return np.concatenate(labels) if labels else np.zeros((0, len(self.names)), bool)

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready, for `of`: structure, public numbers, hypotheses. InputError for objects without a description."""
        return {
            "kind": KIND,
            "names": list(self.names),
            "positive": self.positive,
            "placing": self.placing.to_dict(),
            "learner": spec_of(self.learner, "learner"),
            "hypothesis": spec_of(self.hypothesis, "hypothesis"),
        }

    @staticmethod
    def of(data: Any, imports: Sequence[str] = ()) -> "Learned":
        """The inverse of `to_dict`. imports: user modules that it may use. InputError for anything else."""
        if not isinstance(data, Mapping) or data.get("kind") != KIND:
            raise _broken("another content")
        require_tables(data)
        builder = Builder(tuple(imports))
        try:
            learner = builder.build("learner", data["learner"], LEARNERS)
            hypothesis = jax.tree.map(jnp.asarray, builder.build("hypothesis", data["hypothesis"]))
            names, positive = tuple(map(str, data["names"])), data["positive"]
            made = Learned(learner, hypothesis, Placing.of(data["placing"]), names, positive)
            made._require_usable()
        except InputError:
            raise
        except Exception as error:  # of objects that do not fit together
            raise _broken(f"{type(error).__name__}: {error}") from error
        return made

    def _require_usable(self) -> None:
        """InputError unless the grids are some, and each name has a hypothesis; other errors if it cannot predict."""
        for feature, grid, _ in self.placing._with():
            if not -math.inf < grid.low < grid.high < math.inf or not 1 <= grid.bits <= 52:
                raise _broken(f"{feature} with bounds {grid.low} to {grid.high}, and {grid.bits} bits")
        count = len(describe(self.learner.concepts, self.hypothesis))
        x = self.placing.elements([np.array([grid.low]) for grid in self.placing.grids])
        shape = jax.eval_shape(lambda: predicted(self.learner, self.hypothesis, jnp.asarray(x))).shape
        if count != len(self.names) or shape != (1, count):
            raise _broken(f"{count} hypotheses and {len(self.names)} names")
        self.rules()

    def _in_units(self, j: int, name: str, said: str) -> dict[str, Any]:
        """A row of `rules`; ``said`` contains ranges of elements, each between two zeros, or none.

        interval: of the range, if there is exactly one.
        """
        row: dict[str, Any] = {"concept": name, "rule": said, "outcome": int(self.hypothesis.outcome[j])}
        if self.placing.cube:
            return row
        place = j if len(self.placing.features) > 1 else 0
        grid, feature = self.placing.grids[place], self.placing.features[place]
        row["rule"] = RANGE.sub(lambda match: grid.sentence(feature, *map(int, match.groups())), said)
        ranges = RANGE.findall(said)
        if len(ranges) == 1:
            row["interval"] = grid.interval(*map(int, ranges[0]))
        return row


def check_rules(concepts: Any, placing: Placing) -> None:
    """InputError if a class describes some of its concepts by ranges that are none, before anything is learned."""
    try:
        describe(concepts, Hypothesis.of(jnp.asarray(concepts.targets(_DESCRIBED))), placing.rule)
    except InputError:
        raise
    except checks.RAISED:  # a class without targets, or whose hypotheses are of another kind
        return


def load(path: str | Path, imports: Sequence[str] = ()) -> Learned:
    """Reads a file of `dpjax learn --out`. InputError for a file that cannot be read or has another content."""
    try:
        data = parse_json(read_bytes(path))
    except OSError as error:
        raise InputError("learned", "a file learned.json", f"{path}: {error.strerror}", "check the path") from error
    except ValueError as error:
        raise _broken(f"{path}: {error}") from error
    return Learned.of(data.get("model") if isinstance(data, Mapping) else data, imports)


def _broken(given: str) -> InputError:
    return InputError("learned", "learned.json of `dpjax learn --out FOLDER`", given, "learn again with --out")
