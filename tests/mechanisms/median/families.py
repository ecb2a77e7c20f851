"""Databases on which private medians are tried: ``draw(name, generator, n, bits)`` gives ``uint32[n, W]``.

``light`` is the weight of light children and clusters where a family has them: put it where a mechanism's test turns.
"""

from dpjax.core.bit_strings import encode

SHARES = (0.5, 0.8, 1.0, 1.2, 1.5)  # of ``light``, in the five borderline families


def number(generator, bits):
    """A uniform Python integer in [0, 2**bits)."""
    return int.from_bytes(generator.bytes(bits // 8 + 1), "big") & ((1 << bits) - 1)


def uniform(generator, n, bits, light):
    return [number(generator, bits) for _ in range(n)]


def constant(generator, n, bits, light):
    return [number(generator, bits)] * n


def adjacent(lower):
    """Two adjacent values, each for half of the rows; ``lower`` gives the lower one."""

    def drawn(generator, n, bits, light):
        value = lower(generator, bits)
        return [value + i % 2 for i in range(n)]

    return drawn


def siblings(generator, bits):
    return number(generator, bits) & ~1


def carry_at_top(generator, bits):
    return (1 << (bits - 1)) - 1


def carry_in_the_middle(generator, bits):
    half = (bits + 1) // 2
    return (number(generator, bits) >> half << half) + (1 << half - 1) - 1


def nested(generator, n, bits, light):
    """One bit flipped at a uniform place: values at all scales around a centre."""
    centre = number(generator, bits)
    return [centre ^ 1 << int(generator.integers(bits)) for _ in range(n)]


def nested_filled(generator, n, bits, light):
    """As `nested`, with uniform bits after the flipped one."""
    centre = number(generator, bits)
    places = [int(generator.integers(bits)) for _ in range(n)]
    return [centre ^ (1 << place | number(generator, place)) if place else centre ^ 1 for place in places]


def cluster_and_uniform(generator, n, bits, light):
    """Every other value among 8 neighboring ones, the rest uniform."""
    wide = min(8, 1 << bits)
    centre = min(number(generator, bits), (1 << bits) - wide)
    return [centre + int(generator.integers(wide)) if i % 2 else number(generator, bits) for i in range(n)]


def borderline(share):
    """Two values that part half way down, the rarer one ``share`` x light times."""

    def drawn(generator, n, bits, light):
        centre = number(generator, bits)
        rare = min(round(share * light), n // 2)
        return [centre ^ (1 << bits // 2) if i < rare else centre for i in range(n)]

    return drawn


def ladder(generator, n, bits, light):
    """Light children of equal weight at many places of one path, the deeper half of it included."""
    centre = number(generator, bits)
    rungs = max(1, min(bits, n // max(1, light)))
    places = [(bits - 1) * i // max(1, rungs - 1) for i in range(rungs)]
    return [centre ^ 1 << places[i % rungs] if i < rungs * light else centre for i in range(n)]


def clusters(generator, n, bits, light):
    """Clusters of ``light`` values which share their first bits / 2 bits."""
    free = bits // 2
    heads = [number(generator, bits - free) for _ in range(-(-n // max(1, light)))]
    return [heads[i // max(1, light)] << free | (number(generator, free) if free else 0) for i in range(n)]


FAMILIES = {
    "uniform": uniform,
    "constant": constant,
    "siblings": adjacent(siblings),
    "carry at the top": adjacent(carry_at_top),
    "carry in the middle": adjacent(carry_in_the_middle),
    "nested": nested,
    "nested and filled": nested_filled,
    "cluster and uniform": cluster_and_uniform,
    **{f"borderline {share}": borderline(share) for share in SHARES},
    "ladder": ladder,
    "clusters": clusters,
}


def draw(name, generator, n, bits, light=None):
    """``uint32[n, W]`` in a random order; ``light`` is n // 4 unless given."""
    values = FAMILIES[name](generator, n, bits, n // 4 if light is None else light)
    return encode([values[int(i)] for i in generator.permutation(n)], bits)
