"""What private learners are compared with."""

from .erm import ERM as ERM
