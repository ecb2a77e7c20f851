"""Flags of `dpjax check`. Imports no JAX."""

from dataclasses import dataclass
from typing import ClassVar

import tyro

from dpjax.cli.arguments.base import Command
from dpjax.cli.arguments.numbers import Real, Whole


@dataclass
class CheckCommand(Command):
    """Check a learner, concept class, law or mechanism of your own against dpjax's conformance suite.

    Prints a table of checks: members, equality by value, plans, keys, padding and batches, databases of all sizes,
    privacy, success at its sample size, and reproducible identity of results. The exit status is 0 if all passed, 1 if
    one failed, 2 if the object cannot be checked or its code raises.

    Example: dpjax check my_module:MyLearner --concepts "Thresholds(64)"
    Example: dpjax check "my_module:MyClass(64)" --quick
    """

    compiles: ClassVar[bool] = True
    object: tyro.conf.Positional[str]
    """module:object, "module:Class(arguments)", a factory, or a name in dpjax such as "KLN(Points(64))"."""
    concepts: str | None = None
    """The class for a learner given as module:Learner: "Thresholds(64)" or "my_module:MyClass(64)"."""
    k: Whole | None = None
    """Number of concepts that the learner learns at once; by default its field k, else 1."""
    small: str | None = None
    """The same learner over two to four elements, for the exact audit; by default derived if possible."""
    distribution: str | None = None
    """Distribution of examples for errors and success, as in `dpjax curve`; by default a few elements of equal mass."""
    quick: bool = False
    """Fewer budgets and trials."""
    seconds: Real = 20.0
    """Approximate time in seconds of each measured check (success, privacy by trials)."""
