"""Nothing in audits may lean on implicit promotion of types or ranks."""

import jax
import pytest


@pytest.fixture(autouse=True)
def strict():
    with jax.numpy_dtype_promotion("strict"), jax.numpy_rank_promotion("raise"):
        yield
