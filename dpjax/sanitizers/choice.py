"""Which threshold sanitizer needs the fewest rows, by what is proved."""

from collections.abc import Callable

from dpjax.core.checks import InputError
from dpjax.core.types import Accuracy, Privacy
from dpjax.sanitizers.base import Sanitizer
from dpjax.sanitizers.blocks import RankBlocks
from dpjax.sanitizers.hierarchy import Hierarchy
from dpjax.sanitizers.joint import JointQuantiles
from dpjax.sanitizers.quantiles import IndependentQuantiles, RecursiveQuantiles
from dpjax.sanitizers.slices import Slices

SANITIZERS: dict[str, Callable[[int], Sanitizer]] = {
    "blocks": RankBlocks,
    "slices": Slices,
    "hierarchy": Hierarchy,
    "independent": IndependentQuantiles,
    "recursive": RecursiveQuantiles,
    "joint": JointQuantiles,
}
_FEW_EQUAL = ("recursive", "joint")  # proved for rows of which few are equal


def candidates(alpha: float, bits: int, privacy: Privacy, beta: float) -> dict[str, tuple[Sanitizer, int]]:
    """Every sanitizer that can be planned for this accuracy, with the rows from which it is proved, on the host.

    Slices need a positive delta, levels of medians an alpha above 2**-14, joint quantiles one above 1 / 512; who cannot
    be planned is left out.
    """
    found: dict[str, tuple[Sanitizer, int]] = {}
    for name, made in SANITIZERS.items():
        sanitizer = made(bits)
        try:
            found[name] = sanitizer, sanitizer.sample_size(privacy, Accuracy(alpha, beta))
        except InputError:
            if name == "blocks":  # it can always be planned: what is wrong is what was given
                raise
    return found


def default(alpha: float, bits: int, privacy: Privacy, beta: float = 0.1) -> Sanitizer:
    """The sanitizer with the smallest proved number of rows for every database, on the host.

    Args:
      alpha: the error, in (0, 1). bits: of a row. beta: the failure probability, in (0, 1).
      privacy: the total budget, as plain numbers.

    Recursive and joint quantiles are left out: their proofs are for rows of which few are equal. At epsilon = 1,
    delta = 1e-6, beta = 0.1 and 32 bits: a few independent quantiles for alpha from 0.17 up, the hierarchy below;
    docs/threshold-sanitizers.md has the table.
    """
    found = candidates(alpha, bits, privacy, beta)
    return min((entry for name, entry in found.items() if name not in _FEW_EQUAL), key=lambda entry: entry[1])[0]
