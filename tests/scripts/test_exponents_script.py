"""The page of exponents: every number is the result's."""

import pytest

from dpjax.experiments.results.result import Result
from dpjax.experiments.run.rows import exponents
from tests.plots.conftest import make_result


def test_the_page_of_exponents(scripts, tmp_path):
    data = make_result(("point", "kln-basic"), (1, 4, 16), (1.0,))
    data["config"]["sweep"] = {"delta": 1e-6, "alpha": 0.2, "beta": 0.1}
    stars = [star | {"exponent_of_k": 0.5} for star in data["n_star"]]
    data |= {"n_star": stars, "exponents": exponents(stars, 4), "exponents_all_k": exponents(stars), "left": 0}
    scripts("exponents").main(Result(data), tmp_path)
    page = (tmp_path / "exponents.md").read_text()
    for star in stars:
        assert f"({star['n_low']}, {star['n_high']}]" in page
    for fit in (*data["exponents"], *data["exponents_all_k"]):
        assert f"{fit['slope']:.3f} [{fit['low']:.3f}, {fit['high']:.3f}]" in page
    assert "over 4 ... 16" in page and "exponent of k over 1 ... 16" in page and "ln(1/delta) = 28" in page
    assert (tmp_path / "figures" / "exponents.png").stat().st_size > 1000
    with pytest.raises(SystemExit, match="not all n"):
        scripts("exponents").main(Result(data | {"left": 2}), tmp_path)
    with pytest.raises(SystemExit, match="not all n"):
        scripts("exponents").main(Result(data | {"n_star": [stars[0] | {"n_high": None}, *stars[1:]]}), tmp_path)
