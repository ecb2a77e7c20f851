"""Solved programs with their proofs, in plain files that a later run continues.

``programs.jsonl`` has a line for each solved program, appended when it is solved; a line that was cut off is ignored.
``proofs/`` has the certificate of each program below its level and the table of each learner at least at it, as
compressed arrays of whole numbers, under their digests.
"""

import hashlib
import io
import json
import math
import re
import zipfile
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, field
from fractions import Fraction
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np

from dpjax.attacks.optimum.best import Optimum, databases_of, goal_of
from dpjax.attacks.optimum.cases import Goal, exactly
from dpjax.attacks.optimum.certificate import Certificate
from dpjax.attacks.optimum.databases import Databases
from dpjax.attacks.optimum.families import FamilyCertificate
from dpjax.attacks.optimum.private_table import is_private
from dpjax.attacks.optimum.rows import Tried
from dpjax.attacks.optimum.stencil import Stencil
from dpjax.attacks.optimum.symmetry import symmetries
from dpjax.attacks.optimum.tiny import matrix_of_code
from dpjax.attacks.optimum.worst import worst_of_all
from dpjax.core.checks import InputError
from dpjax.core.files import replace_file
from dpjax.core.types import Neighboring, Privacy

GRID = 4
"""Programs begin with the distributions on multiples of 1/4."""
_POSITIVE = 1e-6  # of the weights
_SIMPLICES = 10_000  # of the search for a distribution that is worse than claimed
_OF_IMAGES = 1e-7  # more than images of a table differ by
_MOST_BYTES = 1 << 30  # of a file or a proof


@dataclass(frozen=True)
class Program:
    """Bounds of one program: replace-one, improper learners of one concept.

    concepts: as `tiny.code_of` writes them. n, epsilon, delta, alpha: of the program; epsilon is None without privacy.
    level: a success.
    upper, lower: bounds on the best success; rounded up and down. certificate: the digest of what proves an upper bound
    below the level, else "". table: of a learner that has the lower bound, if that is at least the level.
    distributions: with a positive weight, beyond the grid. seconds: of the solver.
    """

    concepts: str
    n: int
    epsilon: float | None
    alpha: float
    level: float
    upper: float
    lower: float
    certificate: str = ""
    table: str = ""
    distributions: list[list[int]] = field(default_factory=list)
    seconds: float = 0.0
    delta: float = 0.0

    def __post_init__(self):
        numbers = (self.alpha, self.level, self.upper, self.lower, self.seconds)
        right = (
            all(isinstance(text, str) for text in (self.concepts, self.certificate, self.table))
            and type(self.n) is int
            and self.n >= 1
            and all(type(number) in (int, float) for number in numbers)
            and 0 < self.alpha < 1
            and 0 < self.level < 1
            and 0 <= self.lower <= 1
            and 0 <= self.upper <= 1
            and (self.epsilon is None or (type(self.epsilon) in (int, float) and self.epsilon > 0))
            and type(self.delta) in (int, float)
            and 0 <= self.delta < 1
        )
        if not right:
            raise InputError("program", "the numbers of one that was solved", repr(self)[:200], "solve it again")

    @property
    def proved(self) -> bool:
        """Whether it names a proof of each bound that is on one side of its level."""
        below, enough = self.upper < self.level, self.lower >= self.level
        return self.epsilon is not None and bool(self.certificate) >= below and bool(self.table) >= enough

    @property
    def key(self) -> tuple[Any, ...]:
        """What it is about."""
        return self.concepts, self.n, self.epsilon, self.alpha, self.level, self.delta

    def tried(self) -> Tried:
        """Its bounds."""
        return Tried(self.n, self.lower, self.upper)

    def line(self) -> str:
        """One line of a file."""
        return json.dumps(asdict(self)) + "\n"


def read_programs(text: str) -> Iterator[Program]:
    """The programs of a file, in its order; a line that was cut off is ignored."""
    for line in text.splitlines():
        try:
            yield Program(**json.loads(line))
        except (ValueError, TypeError):  # an InputError is a ValueError
            continue


def packaged() -> list[Program]:
    """The collection that comes with dpjax: of each class and budget the two programs that prove its bracket."""
    return list(read_programs(resources.files("dpjax.advice").joinpath("atlas.jsonl").read_text()))


def bracket(programs: Iterable[Program]) -> tuple[Program | None, Program | None]:
    """(The largest program below its level, the smallest at least at it), of one class and budget."""
    below, enough = None, None
    for one in programs:
        if one.upper < one.level and (below is None or one.n > below.n):
            below = one
        if one.lower >= one.level and (enough is None or one.n < enough.n):
            enough = one
    return below, enough


@dataclass(frozen=True)
class Collection:
    """The programs in a folder."""

    folder: Path

    def programs(self) -> Iterator[Program]:
        """All that are stored, in the order in which they were solved. InputError for a file beyond memory."""
        path = self.folder / "programs.jsonl"
        if path.exists() and path.stat().st_size > _MOST_BYTES:
            raise InputError("store", f"at most {_MOST_BYTES} bytes", str(path), "solve the programs again")
        return read_programs(path.read_text()) if path.exists() else iter(())

    def add(self, concepts: str, level: float, found: Optimum) -> Program:
        """Stores a solution, its certificate or table first."""
        lower = math.floor((found.everywhere or 0.0) * 1e6) / 1e6
        upper = _rounded_up(found.value)
        goal, n = found.goal, found.databases.rows
        certificate = self._save(**arrays_of(found.certificate)) if found.value < level else ""
        table = self._save(**_table(goal, found.databases, found.table)) if lower >= level else ""
        epsilon, delta = float(found.privacy.epsilon), float(found.privacy.delta)
        head = concepts, n, epsilon, goal.alpha, level, upper, lower, certificate, table
        one = Program(*head, _weighted(found.certificate), round(found.seconds, 1), delta)
        self.append(one)
        return one

    def add_certificate(self, concepts: str, level: float, proof: FamilyCertificate, seconds: float) -> Program:
        """Stores a bound below the level that came without a learner."""
        head = concepts, proof.rows, proof.epsilon, proof.goal.alpha, level, _rounded_up(proof.bound()), 0.0
        one = Program(*head, self._save(**arrays_of(proof)), "", _weighted(proof), round(seconds, 1), proof.delta)
        self.append(one)
        return one

    def add_table(
        self, concepts: str, n: int, epsilon: float, alpha: float, level: float, lower: float, table: np.ndarray
    ) -> Program:
        """Stores a learner that was not solved for: ``lower`` is its success, at least the level, over all cases."""
        goal = goal_of(matrix_of_code(concepts), alpha)
        digest = self._save(**_table(goal, Databases(n, goal.cells), table)) if lower >= level else ""
        one = Program(concepts, n, epsilon, alpha, level, 1.0, lower, "", digest)
        self.append(one)
        return one

    def append(self, one: Program) -> None:
        """Stores the bounds of a program without a proof."""
        self.folder.mkdir(parents=True, exist_ok=True)
        with (self.folder / "programs.jsonl").open("a") as file:
            file.write(one.line())

    def verify(self, one: Program) -> bool:
        """Whether the stored proofs prove the bounds: in whole numbers, but for the lower one, by subdivision.

        InputError for a proof that is not there, or for a program that no method here can have solved.
        """
        if one.epsilon is None:
            return not one.certificate and not one.table
        goal = goal_of(matrix_of_code(one.concepts), one.alpha)
        databases = databases_of(goal, one.n, Privacy(one.epsilon, one.delta), Neighboring.REPLACE_ONE, "first-order")
        try:
            return self._proves(one, goal, databases)
        except InputError:
            raise
        except (ArithmeticError, LookupError, TypeError, ValueError):  # arrays of something else
            return False

    def _proves(self, one: Program, goal: Goal, databases: Databases) -> bool:
        if one.certificate and certificate_of(self.read(one.certificate), goal, one).bound() > exactly(one.upper):
            return False
        if not one.table:
            return True
        arrays = self.read(one.table)
        weights = arrays["table"] if "table" in arrays else stencil_of(goal, databases).expanded(arrays["kept"])
        if weights.shape != (databases.size, goal.sizes[0]) or not is_private(
            weights, databases, one.epsilon or 0, one.delta
        ):
            return False
        enough = one.lower + _OF_IMAGES
        searches = worst_of_all(weights, goal, databases, symmetries(goal), 0.0, _SIMPLICES, enough)
        return all(search.least >= one.lower for _, search in searches)

    def _save(self, **arrays: np.ndarray) -> str:
        buffer = io.BytesIO()
        np.savez_compressed(buffer, allow_pickle=False, **arrays)
        digest = hashlib.sha256(buffer.getvalue()).hexdigest()
        replace_file(self.folder / "proofs" / f"{digest}.npz", buffer.getvalue())
        return digest

    def read(self, digest: str) -> dict[str, np.ndarray]:
        """The arrays of a proof. InputError if there is no file, one of another digest, or no arrays of this size."""
        if not re.fullmatch("[0-9a-f]{64}", digest):
            raise InputError("digest", "64 hexadecimal digits", repr(digest), "solve the program again")
        path = self.folder / "proofs" / f"{digest}.npz"
        data = path.read_bytes() if path.exists() else b""
        if hashlib.sha256(data).hexdigest() != digest:
            raise InputError("store", f"the proof {path.name}", "another" if data else "none", "solve it again")
        try:
            with np.load(io.BytesIO(data), allow_pickle=False) as arrays:
                if sum(part.file_size for part in arrays.zip.infolist()) <= _MOST_BYTES:
                    return dict(arrays)
        except (ValueError, OSError, EOFError, MemoryError, zipfile.BadZipFile):
            pass
        raise InputError("store", f"arrays of at most {_MOST_BYTES} bytes", path.name, "solve the program again")


def _rounded_up(value: Fraction) -> float:
    return min(1.0, math.ceil(value * 10**6) / 1e6)


def _weighted(proof: Certificate | FamilyCertificate) -> list[list[int]]:
    """The distributions with a positive weight, beyond the grid."""
    least, pairs = _POSITIVE * sum(proof.weights), zip(proof.cases, proof.weights, strict=True)
    masses = {case.elements for case, weight in pairs if weight > least and sum(case.elements) > GRID}
    return [list(mass) for mass in sorted(masses)]


def arrays_of(certificate: Certificate | FamilyCertificate) -> dict[str, np.ndarray]:
    """A certificate without its databases, which are all of n rows."""
    cases = json.dumps([[case.target, case.elements] for case in certificate.cases])
    common = {"cases": np.array(cases), "weights": np.array(certificate.weights, np.int64), "flows": certificate.flows}
    if isinstance(certificate, FamilyCertificate):
        return common | {"bits": np.array(certificate.bits)}
    return common | {"pairs": certificate.pairs.astype(np.int32), "scale": np.array(certificate.scale)}


def certificate_of(arrays: dict[str, np.ndarray], goal: Goal, one: Program) -> Certificate | FamilyCertificate:
    """The certificate about a program that was saved by `arrays_of`."""
    cases = tuple(goal.case(tuple(target), elements) for target, elements in json.loads(str(arrays["cases"])))
    weights, epsilon = tuple(arrays["weights"].tolist()), float(one.epsilon or 0)
    if "bits" in arrays:
        return FamilyCertificate(goal, one.n, epsilon, one.delta, cases, weights, arrays["flows"], int(arrays["bits"]))
    counts = Databases(one.n, goal.cells).counts
    head = goal, one.n, Neighboring.REPLACE_ONE, epsilon, one.delta, cases, weights, counts
    return Certificate(*head, arrays["pairs"], arrays["flows"], int(arrays["scale"]))


def _table(goal: Goal, databases: Databases, table: np.ndarray) -> dict[str, np.ndarray]:
    """A learner's table, or its rows for one database of each orbit if these say all."""
    stencil = stencil_of(goal, databases)
    kept = table[stencil.of_databases.kept]
    return {"kept": kept} if np.array_equal(stencil.expanded(kept), table) else {"table": table}


def stencil_of(goal: Goal, databases: Databases) -> Stencil:
    """Databases and families up to the symmetries of the goal."""
    return Stencil(databases, symmetries(goal), goal.sizes[0])
