"""The iterated logarithm, in which the sample size of private thresholds grows."""

from dpjax.core import checks
from dpjax.core.checks import InputError
from dpjax.core.host import host_functions


def log_star(number: float) -> int:
    """How often log2 has to be applied to ``number`` to get 1 or less; exact for integers of any size.

    0 up to 1, 1 up to 2, 2 up to 4, 3 up to 16, 4 up to 65536, 5 up to 2^65536, and 6 for all larger numbers that
    anyone writes down. A class of Littlestone dimension d needs Omega(log* d) rows under approximate privacy.

    Reference: Alon, Livni, Malliaris, Moran 2019 (lower bound).
    """
    if not isinstance(number, int) or isinstance(number, bool):
        number = checks.number("number", number)
    if number < 0:
        raise InputError("number", "a number >= 0", repr(number), "give the size of a domain, or a dimension")
    tower, height = 1, 0
    while number > tower:
        if height == 5:
            return 6
        tower, height = 2**tower, height + 1
    return height


host_functions(globals())
