"""What `dpjax curve` measures, as data: TOML in, checked models out, equal by value."""

import ast
import difflib
import operator
import tomllib
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, ValidationError
from tyro.constructors import PrimitiveConstructorSpec

from dpjax.core import checks
from dpjax.core.checks import InputError

_POWERS = {ast.Pow: operator.pow, ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul}


def whole_number(value: Any) -> Any:
    """2**32 and 1e6 as people write them: a string of whole numbers with ** * + -, or a float that is whole."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if not isinstance(value, str):
        return value

    def evaluate(node: ast.AST) -> int:
        if isinstance(node, ast.Constant) and isinstance(node.value, int):
            return node.value
        if isinstance(node, ast.BinOp) and type(node.op) in _POWERS:
            left, right = evaluate(node.left), evaluate(node.right)
            if isinstance(node.op, ast.Pow) and not 0 <= right <= 64:
                raise ValueError("an exponent in [0, 64]")
            return _POWERS[type(node.op)](left, right)
        raise ValueError("a whole number such as 4294967296 or 2**32")

    try:
        return evaluate(ast.parse(value.strip(), mode="eval").body)
    except SyntaxError as error:
        raise ValueError("a whole number such as 4294967296 or 2**32") from error


_FROM_FLAG = PrimitiveConstructorSpec(
    nargs=1, metavar="WHOLE", instance_from_str=lambda words: whole_number(words[0]),
    is_instance=lambda value: isinstance(value, int), str_from_instance=lambda value: [str(value)],
)  # fmt: skip
Whole = Annotated[int, BeforeValidator(whole_number), _FROM_FLAG]


class _Model(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=True)


class Problem(_Model):
    """What is learned, from which examples."""

    concepts: Literal[
        "points", "thresholds", "parities", "conjunctions", "polygons", "unions", "recursive-tree", "caterpillar"
    ] = "points"
    """The concept class."""
    domain_size: Whole = 2**32
    """Elements of the domain, at most 2**64; 2**32 may be written so."""
    distribution: str = "heavy"
    """uniform, heavy (atoms of probability mass each over a uniform rest), zipf, or adversarial for the class."""
    atoms: int = 4
    """Number of atoms of heavy and zipf."""
    mass: float = 0.23
    """Probability of each atom of heavy."""
    exponent: float = 1.0
    """Decay of zipf: probability proportional to rank**-exponent."""
    noise: float = 0.0
    """Every label is flipped with this probability, below 1/2; errors count beyond the target's."""


class Sweep(_Model):
    """Which points are measured."""

    learners: tuple[str, ...] = ("point", "kln-basic", "kln-optimal", "erm")
    """Names from `dpjax list`, or module:callable of your own."""
    k: tuple[int, ...] = (1, 4, 16)
    """Numbers of concepts that are learned at once."""
    epsilon: tuple[float, ...] = (1.0,)
    """Privacy budgets."""
    delta: float = 1e-6
    """The other half of the budget."""
    alpha: float = 0.2
    """Error that a hypothesis may have."""
    beta: float = 0.1
    """Probability with which the learner may fail."""
    n: tuple[int, ...] = ()
    """Sample sizes of the curves; none: chosen around each n*."""
    points: int = 7
    """How many sample sizes are chosen around n* where none are given."""
    fit_from: int = 1
    """The exponent of k is fitted over k >= this."""
    trials: int = 1000
    """Trials a point of a curve, rounded up to whole tiles."""


class Search(_Model):
    """How n* is found."""

    enabled: bool = True
    """Whether to search n* at all; without it the sample sizes n must be given."""
    n_min: int = 16
    """Smallest sample size considered."""
    n_max: Whole = 2**17
    """Largest sample size considered."""
    gamma: float = 0.05
    """Resolution: n_low succeeds with less than 1 - beta, n_high with more than 1 - beta - gamma."""
    confidence: float = 0.95
    """Of each bracket, and of each curve's simultaneous band."""
    steps_per_doubling: int = 8
    """Grid points of the search between n and 2 n."""


class Curve(_Model):
    """Measures how many samples learners need: success against n, n*, and the theorem's number."""

    problem: Problem = Problem()
    sweep: Sweep = Sweep()
    search: Search = Search()
    seed: int = 0
    """Root of every random number, in [0, 2**32)."""
    title: str | None = None
    """Printed above the figure."""

    def check(self) -> "Curve":
        """Raises InputError for numbers that make no sense, before anything runs."""
        checks.integer("seed", self.seed, 0, 2**32 - 1)
        checks.integer("problem.domain_size", self.problem.domain_size, 1, 2**64)
        checks.integer("problem.atoms", self.problem.atoms, 1)
        if not 0 <= self.problem.noise < 0.5:
            raise InputError("problem.noise", "a rate in [0, 1/2)", repr(self.problem.noise), "flip fewer labels")
        if not self.sweep.learners or not self.sweep.k or not self.sweep.epsilon:
            raise InputError("sweep", "at least one learner, one k and one epsilon", "an empty list", "add one")
        for name, values in (("learners", self.sweep.learners), ("k", self.sweep.k), ("epsilon", self.sweep.epsilon)):
            if len(set(values)) < len(values):
                raise InputError(f"sweep.{name}", "each value once", repr(values), "remove what is there twice")
        for k in self.sweep.k:
            checks.integer("sweep.k", k, 1, 2**16)
        for epsilon in self.sweep.epsilon:
            checks.epsilon(epsilon, "sweep.epsilon")
        checks.delta(self.sweep.delta, "sweep.delta")
        checks.probability("sweep.alpha", self.sweep.alpha)
        checks.probability("sweep.beta", self.sweep.beta)
        for n in self.sweep.n:
            checks.integer("sweep.n", n, 1)
        checks.integer("sweep.points", self.sweep.points, 1, 1000)
        checks.integer("sweep.trials", self.sweep.trials, 1)
        checks.integer("sweep.fit_from", self.sweep.fit_from, 1)
        checks.integer("search.n_min", self.search.n_min, 1)
        checks.integer("search.n_max", self.search.n_max, self.search.n_min)
        checks.integer("search.steps_per_doubling", self.search.steps_per_doubling, 1, 64)
        checks.probability("search.gamma", self.search.gamma)
        checks.probability("search.confidence", self.search.confidence)
        if not self.search.enabled and not self.sweep.n:
            raise InputError("sweep.n", "sample sizes, as there is no search", "none", "give n, or enable the search")
        return self


def read_toml(path: str | Path) -> dict[str, Any]:
    """A TOML file's content. InputError for a missing file and for broken TOML."""
    try:
        return tomllib.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError("configuration", "a TOML file", f"{path}: {error.strerror}", "check the path") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError("configuration", "valid TOML", f"{path}: {error}", "correct the line named") from error


def load(path: str | Path) -> Curve:
    """A configuration from a TOML file. InputError also for a wrong type or an unknown key."""
    return parse(read_toml(path))


def parse(data: dict) -> Curve:
    """A configuration from nested dictionaries; the error names the key and the nearest known ones."""
    try:
        return Curve.model_validate(data)
    except ValidationError as error:
        raise _readable(error) from error


def _readable(error: ValidationError) -> InputError:
    first = error.errors()[0]
    where = ".".join(str(part) for part in first["loc"])
    if first["type"] == "extra_forbidden":
        model: Any = Curve
        for part in first["loc"][:-1]:
            model = model.model_fields[part].annotation
        known = list(model.model_fields)
        near = difflib.get_close_matches(str(first["loc"][-1]), known, n=2, cutoff=0.4)
        advice = f"did you mean {' or '.join(near)}?" if near else "remove it"
        return InputError(where, f"one of the keys {', '.join(known)}", "an unknown key", advice)
    return InputError(where, first["msg"], repr(first.get("input")), "correct the value")
