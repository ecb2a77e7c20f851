"""Programs with every operation written out, for those who read programs: audits, digests, counts of operations."""

from typing import Any

from dpjax.core.jax_extensions import partial_eval


def lowered(program: Any) -> Any:
    """A traced program in which no primitive waits for compilation to say what it does.

    From JAX 0.11 on, some functions of `jax.numpy` are traced as one equation without a jaxpr, which JAX expands when
    it compiles. A program without such equations is returned as it is.

    Args:
      program: a ``ClosedJaxpr``, traced with the same setting of 64-bit types.
    """
    since_011: Any = partial_eval
    return since_011.lower_jaxpr2(program) if program.is_high else program
