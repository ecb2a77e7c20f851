"""Writes exponents.md and its figure from the result of `make figures`: how n* grows with the number of concepts.

Run: python scripts/exponents.py [--result out/exponents] [--out FOLDER]
"""

from collections.abc import Mapping, Sequence
from math import log
from pathlib import Path
from typing import Any

from pages import figure_path, options, table, write_page

from dpjax.experiments.results.result import Result
from dpjax.plots import plot_curve

WRITTEN = Path("out/exponents")
HEAD = """# How n* grows with the number of concepts

How does n* grow when k concepts are learned at once? Not at all for a learner whose privacy cost does not depend on k,
linearly under basic composition, and like the square root of k under optimal composition and zCDP, once k is large. The
theorems' numbers grow alike, and those of KLN are close to what is needed.

`make figures` runs `configs/exponents.toml`, and `scripts/exponents.py` writes this page: k = {ks} point functions over
2^32 points at once, epsilon {epsilon:g}, delta {delta:g}, alpha {alpha:g}, beta {beta:g}; the distribution has four
atoms of probability 0.23. Each bracket holds with probability {confidence:g}: success is below {target:g} at its lower
end and at least {target:g} at its upper end.

![success against n, n* against k](figures/exponents.png)

"""
TAIL = """
The square root of composition only begins at k of about 2 ln(1/delta) = {begins:.0f}: below, optimal composition is
basic composition, which is why exponents over all k lie in between. Above, the logarithm of k in the union bound is
the rest of the exponent; the theorem's numbers have it too. Bounded range (zCDP) halves what optimal composition
needs, because randomized response, the worst case of the latter, is no exponential mechanism. The theorem of
PointLearner is {point:.0f} times what it needs on this distribution at k = {most}, because the paper's thresholds
alpha/15 and alpha/30 guard against points of that mass, which this distribution does not have. KLN's number, ln(C k /
beta) / -ln(1 - alpha (1 - exp(-epsilon/2))), is at most {kln:.2f} times the upper end of its bracket.
"""


def main(result: Result, out: Path) -> None:
    """Page and figure."""
    data = result.data
    stars: Sequence[Mapping[str, Any]] = data["n_star"]
    missing = data.get("left") or data.get("failures")
    if missing or not stars or any(star[end] is None for star in stars for end in ("n_low", "n_high")):
        raise SystemExit(f"{result.folder}: not all n* are measured; run `make figures` to its end")
    sweep, ks = data["config"]["sweep"], sorted({star["k"] for star in stars})
    names, most = list(dict.fromkeys(star["learner"] for star in stars)), ks[-1]
    at = {(star["learner"], star["k"]): star for star in stars}
    kln = [name for name in names if name not in ("point", "ERM (not private)")]
    page = HEAD.format(
        ks=", ".join(map(str, ks)),
        epsilon=stars[0]["epsilon"],
        delta=sweep["delta"],
        alpha=sweep["alpha"],
        beta=sweep["beta"],
        confidence=stars[0]["confidence"],
        target=1 - sweep["beta"],
    )
    page += table(
        ["learner", f"k = {ks[0]}", *ks[1:], f"theorem at {most}"],
        ([name, *(_bracket(at[name, k]) for k in ks), at[name, most]["theorem"]] for name in names),
    )
    whole, from_k = ({fit["learner"]: fit for fit in data[name]} for name in ("exponents_all_k", "exponents"))
    first = from_k[names[0]]["k_from"]
    page += "\n" + table(
        [
            "learner",
            f"exponent of k over {ks[0]} ... {most}",
            f"over {first} ... {most}",
            "the theorem's numbers there",
            "the theorem's exponent",
        ],
        (
            [
                name,
                _exponent(whole[name]),
                _exponent(from_k[name]),
                f"{from_k[name]['theorem']:.3f}",
                from_k[name]["claimed"],
            ]
            for name in names
        ),
    )
    page += TAIL.format(
        begins=2 * log(1 / sweep["delta"]),
        most=most,
        point=at["point", most]["theorem"] / at["point", most]["n_high"],
        kln=max(star["theorem"] / star["n_high"] for star in stars if star["learner"] in kln),
    )
    write_page(out / "exponents.md", page)
    plot_curve(data, figure_path(out, "exponents"), ("png", "svg"))


def _bracket(star: Mapping[str, Any]) -> str:
    return f"({star['n_low']}, {star['n_high']}]"


def _exponent(fit: Mapping[str, Any]) -> str:
    return f"{fit['slope']:.3f} [{fit['low']:.3f}, {fit['high']:.3f}]"


if __name__ == "__main__":
    given = options(__doc__, seed=0, trials=1, files=["result"])
    main(Result.load(given.result or WRITTEN), given.out)
