"""A certificate from the databases that are close to realizable ones, for the atlas' collection.

Run: python scripts/atlas_relaxed.py --store FOLDER --rows N --epsilon 0.5 --within 3 "000 001 010" [--seconds 600]

It is about all private learners, and verified as any other; see `dpjax.attacks.optimum.relaxed`. The distributions are
those that the learner of `atlas_signed` is tested on, which are close to the worst ones.
"""

import time
from collections.abc import Sequence

from atlas_data import ALPHA, BETA
from atlas_signed import known_distributions, parser_of, signed_learner

from dpjax.advice.collection import Collection
from dpjax.attacks.optimum import goal_of
from dpjax.attacks.optimum.relaxed import relaxed_bound
from dpjax.attacks.optimum.tiny import matrix_of_code
from dpjax.core.types import Privacy

_CLOSE = 2e-4


def main(arguments: Sequence[str] | None = None) -> None:
    """The command line."""
    parser = parser_of(__doc__)
    parser.add_argument("--within", type=int, required=True, help="rows that are replaced")
    given = parser.parse_args(arguments)
    store, level, begin = Collection(given.store), round(1 - BETA, 12), time.perf_counter()
    goal = goal_of(matrix_of_code(given.concepts), ALPHA)
    known = known_distributions(store, given.concepts, given.rows, given.epsilon)
    *_, masses = signed_learner(goal, given.rows, given.epsilon, given.seconds / 4, known, level)
    how = {"distributions": masses, "tolerance": _CLOSE, "level": level, "seconds": given.seconds}
    bound, certificate = relaxed_bound(goal, given.rows, Privacy(given.epsilon), given.within, **how)
    print(f"within {given.within}: no private learner above {float(bound):.6f}")
    if bound < level:
        print(store.add_certificate(given.concepts, level, certificate, time.perf_counter() - begin))


if __name__ == "__main__":
    main()
