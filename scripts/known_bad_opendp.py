"""Audits opendp's integer Laplace mechanism at scale 10, which claims epsilon 0.1.

opendp 0.14.1 has a biased sampler (its issue 2638), later versions do not: install either one beside dpjax.
Run: python scripts/known_bad_opendp.py [TRIALS]
"""

import sys
from importlib.metadata import version
from typing import Any

import numpy as np
import opendp.prelude as dp

from dpjax.accounting import Guarantee
from dpjax.audit import of_outputs
from dpjax.core.types import Neighboring

SCALE = 10.0
TRIALS = 400_000  # on each side


def main(trials: int) -> None:
    """Draws on both sides, in vectors of 10,000, and prints what they certify beside the claim."""
    dp.enable_features("contrib")
    claim = Guarantee(1 / SCALE, 0.0, Neighboring.REPLACE_ONE, f"opendp {version('opendp')}, scale {SCALE:g}")
    sides = [_draws(value, trials) for value in (0, 1)]
    print(of_outputs(*sides, claim, training=0.5, name=claim.what))


def _draws(value: int, trials: int, size: int = 10_000) -> Any:
    space = dp.vector_domain(dp.atom_domain(T=int)), dp.l1_distance(T=int)
    laplace = dp.m.make_laplace(*space, scale=SCALE)
    return np.concatenate([np.asarray(laplace([value] * size), np.int32) for _ in range(trials // size)])


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else TRIALS)
