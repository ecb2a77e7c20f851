"""Flags of `dpjax list`. Imports no JAX."""

from dataclasses import dataclass

from dpjax.cli.arguments.base import Command


@dataclass
class ListCommand(Command):
    """List the names that a study can use: learners with their guarantees, classes, distributions, mechanisms."""
