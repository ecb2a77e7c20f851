"""Writes dimensions.md: exact dimensions of known classes, and the multiclass paper's theorems on random ones.

Run: python scripts/dimensions.py [--out FOLDER] [--seed SEED] [--trials CLASSES]
"""

import time
from collections import Counter
from math import log, log2
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator
from pages import about, figure_path, options, table, write_page
from papers.bgs_dimensions import COUNTEREXAMPLE, Measured, inequalities, measure, random_class

from dpjax.concepts import Domain, Finite, Points, PointSets, Spider, Thresholds, tree_generators
from dpjax.dimensions import families, littlestone_dimension, psi_littlestone_dimension
from dpjax.dimensions.psi import bits
from dpjax.lists import versions_of
from dpjax.plots.files import save

HEAD = """# Dimensions of finite classes, and the theorems that relate them

The combinatorial dimensions of finite classes, computed exactly, and the theorems that relate them. Dimensions of
classes with thousands of concepts take moments. On random classes every inequality of the paper holds, except one that
fails as it is printed and holds in a corrected form; the extremal classes have the dimensions that they are built for.

Written by `scripts/dimensions.py`. Dimensions are exact; seconds are those of one core.

"""
EXTREMAL = """
## The theorems

The extremal classes of Bun, Gaboardi and Sivakumar: a bit may have a much larger Littlestone dimension than the class
(Theorem 6.1), copies multiply dimensions (Claim 6.2), and the class may have a larger one than its bits (Theorem 7.2):

"""
RANDOM = """
Every inequality of the paper between dimensions, on {classes} random classes with labels 0..k, k <= {most}, at most
{rows} rows and {elements} elements (a class may be counted for several depths of Theorem 5.6). "Closest" is the
largest ratio of the left side to the right one. Theorem 7.1 holds with the number of bits, ceil(log2(k + 1)), and
fails as printed, with log2(k + 1):

"""
COUNTER = """
A counterexample to Theorem 7.1 as printed has labels 0..{k}: rows {rows}, with multiclass Littlestone dimension
{multiclass}, bits of dimension {bits}, and {multiclass} > max d_i log2({labels}) = {printed:.2f}.

![Dimension of the largest bit against that of the class](figures/dimensions.png)

Each circle is a pair of values, its area the number of classes; triangles are the extremal classes. The largest ratio
of max d_i to MLD ln(k + 1) on random classes is {ratio:.3g}; the proof allows 6.
"""
STRUCTURE = """
## Classes by their structure

Classes of any size answer by their structure (`ConceptClass.versions`): the Littlestone dimension, the optimal
prediction after some labels, and the least dimension that trees of so many queries leave at every leaf. Seconds are
those of all of it, and of one optimal prediction after labels at both ends of the domain.

"""
MATRICES = """
Other classes answer by sets of rows of their matrix (`lists.versions_of`). CPU seconds to
read the matrix, and for the optimal predictions at {predicted} elements after {labels} labels of one concept.

"""
QUERIES, MATRIX_SIZES, LABELS, PREDICTED = (1, 8, 64), (1000, 3000, 10_000), 8, 10
LARGE = {
    "thresholds on 2^64 elements": Thresholds(Domain(2**64)),
    "thresholds on 2^2048 elements": Thresholds(Domain(2**2048)),
    "points of 2^64": Points(Domain(2**64)),
    "3-points of 2^64": PointSets(Domain(2**64), 3),
    "4 legs of 2^62 steps": Spider(4, 62),
    "2^20 legs of 2^44 steps": Spider(2**20, 44),
    "prefixes of 12 bits": tree_generators.prefixes(12),
    "a random recursive tree": tree_generators.recursive(10_000, 0),
}
SIZES = {"labels": 8, "rows": 27, "elements": 5}  # the largest of random classes


def main(out: Path, seed: int, classes: int) -> dict[str, int]:
    """Returns how often each statement failed."""
    generator = np.random.default_rng(seed)
    measured = [measure(random_class(generator, **SIZES)) for _ in range(classes)]
    rows, failures = _statements(measured)
    extremal = _extremal()
    counter = measure(COUNTEREXAMPLE)
    ratio = max(one.largest_bit / (one.multiclass * log(one.k + 1)) for one in measured if one.multiclass)
    page = HEAD + table(("class", "concepts", "elements", "dimension", "seconds"), _known())
    page += structure() + EXTREMAL + table(("class", "concepts", "MLD", "largest d_i", "Psi^bin", "stated"), extremal)
    page += RANDOM.format(classes=classes, most=SIZES["labels"] - 1, rows=SIZES["rows"], elements=SIZES["elements"])
    page += table(("source", "statement", "cases", "failures", "closest"), rows)
    page += COUNTER.format(
        rows=", ".join("".join(map(str, row)) for row in COUNTEREXAMPLE),
        multiclass=counter.multiclass,
        bits=" and ".join(map(str, counter.of_bits)),
        k=counter.k,
        labels=counter.k + 1,
        printed=log2(counter.k + 1) * counter.largest_bit,
        ratio=ratio,
    )
    carried = about({"script": "dimensions", "classes": classes}, seed)
    save(lambda: _figure(measured, extremal), figure_path(out, "dimensions"), ("png", "svg"), carried)
    write_page(out / "dimensions.md", page)
    return failures


def _known() -> list[tuple]:
    circle = [(round(1e6 * np.cos(2 * np.pi * i / 32)), round(1e6 * np.sin(2 * np.pi * i / 32))) for i in range(32)]
    generator = np.random.default_rng(0)
    made = {
        "thresholds on 1024 points": families.thresholds(1024),
        "thresholds on 4096 points": families.thresholds(4096),
        "points of 256": families.points(256),
        "3-points of 24": families.points(24, 3),
        "4-points of 16": families.points(16, 4),
        "5-points of 12": families.points(12, 5),
        "intervals on 48 points": families.intervals(48),
        "rectangles on 6 x 6": families.rectangles(6, 6),
        "halfplanes on 32 points": families.halfspaces(circle),
        "parities of 8 bits": families.parities(8),
        "three copies of thresholds on 8 points": families.copies(families.thresholds(8), 3),
        "512 random rows on 16 points": np.unique(generator.integers(0, 2, (512, 16)), axis=0),
        "256 random rows of 4 labels on 16 points": np.unique(generator.integers(0, 4, (256, 16)), axis=0),
    }
    found = {name: littlestone_dimension(matrix) for name, matrix in made.items()}
    return [(name, *made[name].shape, str(one), f"{one.seconds:.2f}") for name, one in found.items()]


def structure() -> str:
    """The section on classes that are not listed, and on large matrices."""
    heads = ("class", "concepts", "dimension", *(f"after {one}" for one in QUERIES), "seconds")
    page = STRUCTURE + table(heads, map(_by_structure, LARGE))
    heads = ("concepts", "elements", "class", "dimension after the labels", "CPU seconds")
    page += MATRICES.format(predicted=PREDICTED, labels=LABELS)
    return page + table(heads, [_of_matrix(size, name) for size in MATRIX_SIZES for name in ("thresholds", "random")])


def _by_structure(name: str) -> tuple:
    concepts, start = LARGE[name], time.process_time()
    versions = concepts.versions()
    dimension = versions.dimension(versions.whole)
    left = [versions.reduced(versions.whole, depth) for depth in QUERIES]
    space = versions.after(
        versions.after(versions.whole, versions.elements - 1, 0), 0, int(name.startswith("thresholds"))
    )
    versions.prediction(space, versions.elements // 2)
    exponent = log2(concepts.size)
    return name, f"2^{exponent:.4g}", dimension, *left, f"{time.process_time() - start:.4f}"


def _of_matrix(size: int, name: str) -> tuple:
    generator = np.random.default_rng(0)
    matrix = np.tri(size, dtype=np.int8) if name == "thresholds" else generator.integers(0, 2, (size, size), np.int8)
    concepts, start = Finite.of(matrix), time.process_time()
    versions = versions_of(concepts)
    space, target = versions.whole, matrix[size // 3]
    for x in generator.choice(size, LABELS, replace=False).tolist():
        space = versions.after(space, x, int(target[x]))
    for x in range(0, size, size // PREDICTED):
        versions.prediction(space, x)
    return size, size, name, versions.dimension(space), f"{time.process_time() - start:.2f}"


def _extremal() -> list[tuple]:
    rows = []
    for largest, count in ((5, 1), (7, 1), (15, 1), (31, 1), (63, 1), (127, 1), (255, 1), (7, 2), (31, 2), (7, 3)):
        matrix = families.copies(families.one_bit_gap(largest), count)
        name = f"Theorem 6.1, k = {largest}, d = {count}"
        rows.append(_row(name, matrix, f"{count}, at least {count * log2(largest / 4):.3g}"))
    for number, ones, elements in ((2, 1, 3), (3, 1, 4), (4, 1, 5), (2, 2, 6)):
        matrix = families.independent_bits(number, ones, elements)
        name = f"Theorem 7.2, k = {2**number - 1}, d = {ones}, {elements} elements"
        rows.append(_row(name, matrix, f"{number * ones}, {ones}"))
    return rows


def _row(name: str, matrix: np.ndarray, stated: str) -> tuple:
    largest = max(littlestone_dimension(families.bit(matrix, i)).value for i in range(int(matrix.max()).bit_length()))
    own = littlestone_dimension(matrix).value
    return name, len(matrix), own, largest, psi_littlestone_dimension(matrix, bits).value, stated


def _statements(measured: list[Measured]) -> tuple[list[tuple], dict[str, int]]:
    cases: dict[tuple[str, str], list] = {}
    for one in measured:
        for found in inequalities(one):
            cases.setdefault((found.source, found.words), []).append(found)
    failures = {source: 0 for source, _ in cases}
    rows = []
    for (source, words), found in cases.items():
        failed = sum(not one.holds for one in found)
        failures[source] += failed
        closest = max(one.small / one.large for one in found if one.large)
        rows.append((source, words, len(found), failed, f"{closest:.3f}"))
    return rows, failures


def _figure(measured: list[Measured], extremal: list[tuple]) -> tuple[Figure, str]:
    title = "Littlestone dimension of the class and of its largest bit"
    figure = Figure(figsize=(6.4, 4.4), layout="constrained")
    axes = figure.subplots()
    counts = Counter((one.multiclass, one.largest_bit) for one in measured)
    places, sizes = np.array(list(counts)), np.array(list(counts.values()))
    axes.scatter(*places.T, s=900 * sizes / sizes.max() + 6, color="#003b80", alpha=0.55, label="random classes")
    axes.scatter(
        [row[2] for row in extremal],
        [row[3] for row in extremal],
        marker="^",
        s=50,
        color="#d0382d",
        label="extremal classes",
    )
    most = max(*places[:, 0], *(row[2] for row in extremal))
    axes.plot([0, most], [0, most], color="#777777", linewidth=1, label="equal")
    axes.set(xlabel="multiclass Littlestone dimension", ylabel="largest Littlestone dimension of a bit", title=title)
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_locator(MaxNLocator(integer=True))
    axes.legend(loc="upper right", markerscale=0.4)
    return figure, title


if __name__ == "__main__":
    given = options(__doc__, seed=0, trials=5000)
    print(main(given.out, given.seed, given.trials))
