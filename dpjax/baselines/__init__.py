"""Non-private and neural baselines for the private learners."""

from .erm import ERM as ERM
