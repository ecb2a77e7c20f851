"""Processes forked after JAX has started: its threads do not survive the fork, and its programs never end there."""

import os

import jax

from dpjax.core.checks import InputError

_state = {"started": False, "broken": False}


def require_not_forked() -> None:
    """InputError in a process that was forked from one in which JAX had started."""
    if _state["broken"]:
        actual = "one that was forked after JAX had started, without JAX's threads"
        advice = 'start processes by multiprocessing.get_context("spawn"), or give `Study.run` an executor'
        raise InputError("process", "one in which JAX can run", actual, advice)


def _before() -> None:
    name = "jax_num_cpu_devices"
    value = jax.config.values[name]
    try:
        jax.config.update(name, 1 if value != 1 else 2)
    except RuntimeError:  # this setting cannot change once JAX has started
        _state["started"] = True
    else:
        jax.config.update(name, value)


def _in_child() -> None:
    _state["broken"] = _state["broken"] or _state["started"]


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before, after_in_child=_in_child)
