"""The choice of the threshold sanitizer with the smallest proved sample size."""

from collections.abc import Callable

from dpjax.core.checks import InputError
from dpjax.core.types import Accuracy, Privacy
from dpjax.sanitizers.base import Sanitizer
from dpjax.sanitizers.blocks import RankBlocks
from dpjax.sanitizers.hierarchy import Hierarchy
from dpjax.sanitizers.joint import JointQuantiles
from dpjax.sanitizers.quantiles import IndependentQuantiles, RecursiveQuantiles
from dpjax.sanitizers.slices import Slices
from dpjax.sanitizers.window_hierarchy import WindowHierarchy

SANITIZERS: dict[str, Callable[[int], Sanitizer]] = {
    "blocks": RankBlocks,
    "slices": Slices,
    "hierarchy": Hierarchy,
    "majority": WindowHierarchy,
    "independent": IndependentQuantiles,
    "recursive": RecursiveQuantiles,
    "joint": JointQuantiles,
}
_FEW_EQUAL = ("recursive", "joint")  # proved for rows with few duplicates


def candidates(alpha: float, bits: int, privacy: Privacy, beta: float) -> dict[str, tuple[Sanitizer, int]]:
    """Every sanitizer that can be planned for this accuracy, with its proved sample size, on the host.

    Slices and majority need a positive delta, levels of medians an alpha above 2**-14, joint quantiles one above
    1 / 512; sanitizers that cannot be planned are omitted.
    """
    planned: dict[str, tuple[Sanitizer, int]] = {}
    for name, made in SANITIZERS.items():
        sanitizer = made(bits)
        try:
            planned[name] = sanitizer, sanitizer.sample_size(privacy, Accuracy(alpha, beta))
        except InputError:
            if name == "blocks":  # it can always be planned, so the error is in the arguments
                raise
    return planned


def default(alpha: float, bits: int, privacy: Privacy, beta: float = 0.1) -> Sanitizer:
    """The sanitizer with the smallest sample size that is proved for every database, on the host.

    Args:
      alpha: the error, in (0, 1). bits: of a row. beta: the failure probability, in (0, 1).
      privacy: the total budget, as plain numbers.

    Recursive and joint quantiles are omitted: their proofs are for rows with few duplicates. At epsilon = 1,
    delta = 1e-6, beta = 0.1 and 32 bits: the hierarchy for all alpha of the table in
    docs/gallery/threshold-sanitizers.md.
    """
    planned = candidates(alpha, bits, privacy, beta)
    return min((entry for name, entry in planned.items() if name not in _FEW_EQUAL), key=lambda entry: entry[1])[0]
