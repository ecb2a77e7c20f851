"""Every learner's program lowers for NVIDIA and AMD GPUs and for TPUs, and calls nothing on the host, but lists do that
are made there."""

import re

import jax
import numpy as np
import pytest

from dpjax.core.types import Accuracy, Privacy
from dpjax.experiments.run import tiles
from dpjax.experiments.run.trial import Trial, point
from dpjax.experiments.store.capacity import capacity
from dpjax.lists import Irreducibility
from dpjax.testing.samples import task_for

PLATFORMS = ("cuda", "rocm", "tpu")
ROWS = 40
COMPILERS_OWN = {"Sharding", "SPMDFullToShardShape", "SPMDShardToFullShape", "annotate_device_placement", "TopK"}
"""Custom calls that XLA itself expands on every platform."""


def custom_calls(text):
    """Targets of custom calls, in the compiler's input."""
    found = re.findall(r'custom_call[^@\n]*@([\w.]+)|call_target_name = "([^"]+)"', text)
    return {one or other for one, other in found}


def lowered(program, *arguments):
    """Traced once, for all platforms in one module."""
    with jax.enable_x64(False):
        specs = jax.tree.map(lambda part: jax.ShapeDtypeStruct(np.shape(part), np.asarray(part).dtype), arguments)
        return program.trace(*specs).lower(lowering_platforms=PLATFORMS).as_text()


def tile(learner, k):
    task = task_for(learner.concepts)
    plan = learner.plan(Privacy(1.0, 1e-6), Accuracy(0.1, 0.1), ROWS)
    at = point(bytes(8), ROWS, plan, 0.1, task)
    trial = Trial(learner, k, capacity(ROWS))
    return tiles.tile_program(trial), *tiles.arguments_of(task, at, 0), np.uint32(0), np.int32(1)


def test_a_tile_lowers_for_accelerators(lowers):
    program = tile(lowers.learner, lowers.k)
    if isinstance(getattr(lowers.learner, "lists", None), Irreducibility):  # lowers where there is such a device
        with pytest.raises(NotImplementedError, match="callback"):
            lowered(*program)
        return
    text = lowered(*program)
    assert "stablehlo" in text and custom_calls(text) <= COMPILERS_OWN


def test_what_a_library_of_one_platform_computes_is_found():
    text = lowered(jax.jit(lambda x: jax.numpy.linalg.cholesky(x * jax.numpy.eye(3))), np.float32(1))
    assert any("solver" in target for target in custom_calls(text) - COMPILERS_OWN)


def test_a_call_of_the_host_does_not_lower():
    with pytest.raises(NotImplementedError, match="callback"):
        lowered(jax.jit(lambda x: jax.pure_callback(np.sin, x, x)), np.float32(1))
