"""What others would write. The only file of dpjax that draws with NumPy or with JAX's own samplers."""

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from benchmarks.clock import Work
from dpjax.mechanisms.cover import Pieces
from dpjax.mechanisms.cover.score import Score

RATE = 0.05  # factor of the scores in the exponent
EPSILON, ROWS, THRESHOLDS = 1.0, 200, 1024
_CHUNK = 64  # trials that NumPy code does at once, the fastest of 4, 16, 64

Choose = Callable[[], np.ndarray]
"""A new choice: the rows that it hits."""


def generator() -> np.random.Generator:
    """NumPy's fastest."""
    return np.random.Generator(np.random.SFC64(0))


def base_scores(candidates: int) -> np.ndarray:
    """``int32[m]``, spread over 400 levels."""
    return -generator().integers(0, 400, candidates).astype(np.int32)


def fresh_scores(base: np.ndarray, trial: int | np.ndarray) -> np.ndarray:
    """The scores of a trial, or of trials ``[t, 1]``: all of them differ from those of the trial before."""
    return base ^ (trial & 15)


def jax_categorical(key: Array, scores: Array) -> Array:
    """``jax.random.categorical``: argmax over scores plus Gumbel noise."""
    return jax.random.categorical(key, jnp.float32(RATE) * scores.astype(jnp.float32))


def jax_laplace(key: Array, shape: tuple[int, ...], dtype) -> Array:
    """``jax.random.laplace``."""
    return jax.random.laplace(key, shape, dtype)


def jax_conjunction(
    key: Array, dimension: int, literals: int, rounds: int, rows: int, coefficient: float, scale: float, offset: float
) -> Array:
    """A private set cover by products of float32 matrices and ``jax.random.categorical``: the exact error.

    64-bit types enabled. The AND of the first literals is 1 with probability 1/2. Scores are those of coordinates,
    negations and constants.
    """
    of_rows, of_rounds = jax.random.split(key)
    relevant = jnp.arange(dimension) < literals
    chance = 0.5 ** (1 / literals)
    x = jax.random.uniform(of_rows, (rows, dimension), jnp.float32) < chance
    label = jnp.all(x | ~relevant, axis=1)
    constants = jnp.broadcast_to(jnp.array([False, True]), (rows, 2))
    hits = jnp.concatenate([~x, x, constants], axis=1).astype(jnp.float32)

    def one(left: Array, own: Array) -> tuple[Array, Array]:
        of_count, of_choice = jax.random.split(own)
        counts = jnp.stack([left & ~label, left & label]).astype(jnp.float32) @ hits
        steps = jnp.floor(scale * jax.random.exponential(of_count, (2,), jnp.float64))
        budget = jnp.sum(left & ~label) + steps[0] - steps[1] - offset
        quality = jnp.minimum(counts[0] - budget / literals, -counts[1])
        chosen = jax.random.categorical(of_choice, coefficient * quality)
        return left & (hits[:, chosen] == 0), chosen

    _, chosen = jax.lax.scan(one, jnp.ones(rows, bool), jax.random.split(of_rounds, rounds))
    found = jnp.zeros(2 * dimension + 2, bool).at[chosen].set(True)

    def mass(needed: Array) -> Array:
        plain, negated = needed[:dimension], needed[dimension : 2 * dimension]
        each = jnp.where(plain, chance, 1.0) * jnp.where(negated, 1 - chance, 1.0)
        return jnp.prod(jnp.where(plain & negated, 0.0, each)) * ~needed[-1]

    target = jnp.zeros_like(found).at[:literals].set(True)
    return mass(found) + mass(target) - 2 * mass(found | target)


def inverse_cdf(scores: np.ndarray, draws: np.random.Generator) -> int:
    """One trial: scale, subtract the maximum, exp, running sum, search."""
    weights = np.multiply(scores, RATE)
    weights -= weights.max()
    np.exp(weights, out=weights)
    np.cumsum(weights, out=weights)
    return int(weights.searchsorted(draws.random() * weights[-1], "right"))


def inverse_cdf_in_chunks(scores: np.ndarray, draws: np.random.Generator) -> np.ndarray:
    """The same for ``[t, m]`` scores at once."""
    weights = np.multiply(scores, RATE)
    weights -= weights.max(axis=1, keepdims=True)
    np.exp(weights, out=weights)
    np.cumsum(weights, axis=1, out=weights)
    return _search(weights, draws)


def race_in_chunks(scores: np.ndarray, draws: np.random.Generator) -> np.ndarray:
    """The least of exponential variables (by ziggurat, float32) over the weights, for ``[t, m]`` scores at once."""
    slowness = np.exp((scores.max(axis=1, keepdims=True) - scores) * np.float32(RATE))
    slowness *= draws.standard_exponential(slowness.shape, np.float32)
    return slowness.argmin(axis=1)


def numpy_one_by_one(candidates: int) -> Work:
    """`inverse_cdf`, a trial at a time."""
    draws, base, trials = generator(), base_scores(candidates), max(2, (1 << 20) // candidates)

    def work() -> int:
        for trial in range(trials):
            inverse_cdf(fresh_scores(base, trial), draws)
        return trials * candidates

    return work


def numpy_in_chunks(draw: Callable[[np.ndarray, np.random.Generator], np.ndarray], candidates: int) -> Work:
    """A function of the scores of 64 trials."""
    draws, base, trials = generator(), base_scores(candidates), np.arange(_CHUNK, dtype=np.int32)[:, None]

    def work() -> int:
        for _ in range(16):
            draw(fresh_scores(base, trials), draws)
        return 16 * _CHUNK * candidates

    return work


def thresholds(trials: int, draws: np.random.Generator) -> np.ndarray:
    """Draw examples, errors of all 1024 thresholds by histograms of both labels, inverse CDF; ``int64[trials]``."""
    x, labels = _examples(trials, draws)
    cells, size, shape = x + THRESHOLDS * np.arange(trials)[:, None], trials * THRESHOLDS, (trials, THRESHOLDS)
    negative = np.bincount(cells[~labels], minlength=size).reshape(shape).cumsum(axis=1)
    positive = np.bincount(cells[labels], minlength=size).reshape(shape).cumsum(axis=1)
    errors = negative + positive[:, -1:] - positive
    running = np.exp(-EPSILON / 2 * (errors - errors.min(axis=1, keepdims=True))).cumsum(axis=1)
    return (running <= draws.random(trials)[:, None] * running[:, -1:]).sum(axis=1)


def thresholds_by_intervals(trials: int, draws: np.random.Generator) -> np.ndarray:
    """The algorithm of dpjax by hand, for domains that fit in int64: sort, 201 intervals, inverse CDF."""
    x, _ = _examples(trials, draws)
    x.sort(axis=1)
    errors = np.zeros((trials, ROWS + 1))
    np.cumsum(np.where(x < THRESHOLDS // 2, -1.0, 1.0), axis=1, out=errors[:, 1:])
    ends = np.concatenate([np.zeros((trials, 1), x.dtype), x, np.full((trials, 1), THRESHOLDS)], axis=1)
    width = np.diff(ends, axis=1)
    weights = np.exp(-EPSILON / 2 * (errors - errors.min(axis=1, keepdims=True))) * width
    np.cumsum(weights, axis=1, out=weights)
    each, chosen = np.arange(trials), _search(weights, draws)
    return ends[each, chosen] + (draws.random(trials) * width[each, chosen]).astype(np.int64)


def numpy_thresholds(learn: Callable[[int, np.random.Generator], np.ndarray], trials: int) -> Work:
    """So many trials at once."""
    draws = generator()

    def work() -> int:
        return len(learn(trials, draws))

    return work


def opendp_thresholds(whole: bool) -> Work:
    """OpenDP's exponential mechanism a trial, on a list of floats as in its guide, or on an int64 array (faster)."""
    import opendp.prelude as dp

    dp.enable_features("contrib", "idealized-numerics")
    number = "i64" if whole else float
    atom = dp.atom_domain(T=number) if whole else dp.atom_domain(T=number, nan=False)
    metric, measure = dp.linf_distance(T=number), dp.zero_concentrated_divergence()
    mechanism = dp.m.make_noisy_max(dp.vector_domain(atom), metric, measure, scale=2 / EPSILON)
    draws, trials = generator(), 16

    def work() -> int:
        for _ in range(trials):
            x, labels = _examples(1, draws)
            scores = -threshold_errors(x[0], labels[0])
            mechanism(scores if whole else scores.astype(float).tolist())
        return trials

    return work


def threshold_errors(x: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """``int64[1024]``, how many of the examples each threshold gets wrong."""
    negative, positive = (np.bincount(x[labels == value], minlength=THRESHOLDS) for value in (False, True))
    return negative.cumsum() + positive.sum() - positive.cumsum()


def _examples(trials: int, draws: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Uniform points ``int64[trials, 200]`` and their labels by the middle threshold."""
    x = draws.integers(0, THRESHOLDS, (trials, ROWS))
    return x, x < THRESHOLDS // 2


def _search(running: np.ndarray, draws: np.random.Generator) -> np.ndarray:
    targets = draws.random(len(running)) * running[:, -1]
    return np.array([row.searchsorted(target, "right") for row, target in zip(running, targets, strict=True)])


def jax_privacy_bound(first: np.ndarray, second: np.ndarray) -> Work:
    """jax_privacy's bound on epsilon from canary scores, at its defaults, 95%."""
    from jax_privacy import auditing

    def work() -> int:
        auditing.CanaryScoreAuditor(first, second).epsilon_clopper_pearson(0.05)
        return len(first) + len(second)

    return work


def numpy_tree(tree, target: int, rows: int, subsamples: int) -> Callable[[], int]:
    """The improper learner as one would write it down: for each subsample, counts on all nodes by running sums."""
    generator = np.random.default_rng(0)
    nodes, tout = tree.size, tree.tout
    number, depth, parent, proper = np.arange(nodes), tree.depth, tree.parent, tree.proper

    def covering(at: np.ndarray) -> np.ndarray:
        """For each node, how many of these nodes are its ancestors or itself."""
        change = np.zeros(nodes + 1, np.int64)
        np.add.at(change, at, 1)
        np.add.at(change, tout[at], -1)
        return np.cumsum(change[:-1])

    def drawn(weights: np.ndarray) -> int:
        running = np.cumsum(np.exp(weights - weights.max()))
        return int(np.searchsorted(running, generator.random() * running[-1]))

    def deterministic(at: np.ndarray, labels: np.ndarray) -> int:
        at, labels = at[at > 0], labels[at > 0]
        consistent = proper & (covering(at[labels]) == labels.sum()) & (covering(at[~labels]) == 0)
        total = np.append(0, np.cumsum(consistent))
        inside = total[tout] - total[number]
        return int(number[inside == total[-1]][-1]) if total[-1] else 0

    def work() -> int:
        x = generator.integers(0, tree.domain.size, rows)
        at = tree.place[x]
        labels = (at <= target) & (target < tout[at])
        order = generator.permutation(rows)
        found = [deterministic(at[order[i::subsamples]], labels[order[i::subsamples]]) for i in range(subsamples)]
        levels = depth[found]
        candidates = np.arange(tree.height + 1)
        scores = np.minimum((levels[None] <= candidates[:, None]).sum(1), (levels[None] >= candidates[:, None]).sum(1))
        z = drawn(0.25 * scores)
        votes: dict[int, int] = {}
        for node in found:
            if depth[node] >= z:
                while depth[node] > z:
                    node = parent[node]
                votes[int(node)] = votes.get(int(node), 0) + 1
        weights = np.append(0.25 * np.array(list(votes.values())), 0.25 * (1 + 4 * np.log(1e6)))
        drawn(weights)
        return 1

    return work


def eliminated(left: np.ndarray, right: np.ndarray, unknowns: int) -> tuple[np.ndarray, bool]:
    """One system over GF(2) in words of 64 bits: (the value of each unknown ``uint64[unknowns, b]``, is it solvable?).

    left: ``uint64[r, a]``, unknown i in bit i % 64 of word i // 64. right: ``uint64[r, b]``.
    """
    matrix, words = np.concatenate([left, right], axis=1), left.shape[1]
    solution, next_row = np.zeros((unknowns, right.shape[1]), np.uint64), 0
    pivots = []
    for unknown in range(unknowns):
        column = (matrix[:, unknown >> 6] >> np.uint64(unknown & 63)) & np.uint64(1)
        below = column[next_row:].argmax()
        pivot = next_row + int(below)
        if next_row == len(matrix) or not column[pivot]:
            continue
        matrix[[next_row, pivot]] = matrix[[pivot, next_row]]
        column[[next_row, pivot]] = column[[pivot, next_row]]
        column[next_row] = 0
        matrix[column.astype(bool)] ^= matrix[next_row]
        pivots.append(unknown)
        next_row += 1
    solution[pivots] = matrix[:next_row, words:]
    return solution, not matrix[next_row:, words:].any()


def numpy_pieces(family: Pieces, x: np.ndarray, target: np.ndarray, other: np.ndarray, score: Score) -> Choose:
    """One of all triangles and rectangles, by tables of running sums and an inverse CDF.

    Returns: the rows that a new choice hits, ``bool[n]``. The strips of the rows are prepared beforehand.
    """
    draws, coefficient, share = generator(), float(score.coefficient), float(score.share)
    low, high = np.triu_indices(family.families()[1].bins)
    prepared = [np.asarray(part.bins) for part in family.prepare(jnp.asarray(x)).parts]
    groups = [
        (own.bins, strips[group], float(np.log(own.size)))
        for own, strips in zip(family.families(), prepared, strict=True)
        for group in own.groups()
    ]

    def counts(place: np.ndarray, bins: int, axes: int) -> np.ndarray:
        table = np.bincount(place, minlength=bins**axes).reshape((bins,) * axes)
        if axes == 2:
            below = np.pad(table.cumsum(axis=0).cumsum(axis=1), ((1, 0), (1, 0)))
            rows = below[high + 1] - below[low]
            return rows[:, high + 1] - rows[:, low]
        for axis in range(axes):
            down = np.flip(np.flip(table, axis).cumsum(axis=axis), axis)
            table = np.concatenate([table.cumsum(axis=axis), down], axis=axis)
        return table

    def weights(bins: int, strips: np.ndarray, log_size: float) -> np.ndarray:
        place = np.ravel_multi_index(tuple(strips), (bins,) * len(strips))
        hit, wrong = (counts(place[part], bins, len(strips)) for part in (target, other))
        return (coefficient * np.minimum(hit - share, -wrong) - log_size).ravel()

    def choose() -> np.ndarray:
        logs = [weights(*group) for group in groups]
        whole = np.concatenate(logs)
        running = np.exp(whole - whole.max()).cumsum()
        number = int(running.searchsorted(draws.random() * running[-1], "right"))
        firsts = np.cumsum([0, *map(len, logs)])
        chosen = int(firsts.searchsorted(number, "right")) - 1
        bins, strips, _ = groups[chosen]
        number -= firsts[chosen]
        if len(strips) == 2:
            ranges = np.unravel_index(number, (len(low), len(low)))
            inside = [(low[i] <= own) & (own <= high[i]) for own, i in zip(strips, ranges, strict=True)]
        else:
            sides = np.unravel_index(number, (2 * bins,) * 3)
            inside = [own <= i if i < bins else own >= i - bins for own, i in zip(strips, sides, strict=True)]
        return np.logical_and.reduce(inside)

    return choose
