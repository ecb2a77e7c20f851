"""Rows of the buffer in which a trial's sample lies."""

from dpjax.core.checks import InputError

CAPACITY_LIMIT = 1 << 20
"""The most rows of one trial."""


def capacity(n: int) -> int:
    """The buffer for n rows: the next power of 4 up to 4096, then of 2. It depends on n only and is part of the point.

    Small buffers are cheap and compilation is expensive, so there are few sizes.
    """
    if n > CAPACITY_LIMIT:
        raise InputError(
            "n", f"at most {CAPACITY_LIMIT} rows", str(n), "lower n or n_max, or relax epsilon, alpha or k"
        )
    exponent = max(4, (n - 1).bit_length())
    return 1 << (exponent + exponent % 2 if exponent <= 12 else exponent)
