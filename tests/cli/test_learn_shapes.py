"""`dpjax learn` on places: a shape in the columns' own units, a public box, a picture, clear errors."""

import json
import re
import sys

import numpy as np
import pytest
import shapely

from dpjax import cli
from dpjax.cli.arguments.tables import LearnCommand
from dpjax.cli.commands import learn as command
from dpjax.mechanisms.cover import Pieces, SlabWedges
from dpjax.plots import read_metadata
from dpjax.tables import grids, places

BOX = (-80.0, 39.0, -75.0, 42.0)


def write(path, rows, header="lon,lat,flooded"):
    path.write_text("\n".join([header, *(",".join(map(str, row)) for row in rows), ""]))
    return path


@pytest.fixture(scope="module")
def flood(tmp_path_factory):
    """Places of a slanted strip, and two far outside the box."""
    x = np.random.default_rng(0).uniform(BOX[:2], BOX[2:], (1500, 2))
    rows = [(a, b, int(2 * (a + 77.5) - 3 * (b - 40.5) > -6 and a < -76.5)) for a, b in x.tolist()]
    return write(tmp_path_factory.mktemp("places") / "flood.csv", [*rows, (-100, 40, 0), (-77.5, 90.25, 0)])


def learn(capsys, *flags):
    status = cli.main(["learn", *map(str, flags)])
    told = capsys.readouterr()
    return status, told.out, told.err


def labels(found, x):
    """By the halfplanes of an answer."""
    inside = [np.all([a * x[:, 0] + b * x[:, 1] <= c for a, b, c in piece], axis=0) for piece in found]
    return np.any(inside, axis=0)


@pytest.mark.slow
def test_a_polygon_in_the_columns_units(flood, tmp_path, capsys):
    flags = (
        flood,
        "--learner",
        "PolygonLearner",
        "--box",
        *BOX,
        "--bits",
        10,
        "--trials",
        3,
        "--epsilon",
        20,
        "--concepts",
        "ConvexPolygons(edges=2)",
        "--out",
        tmp_path / "new",
        "--json",
    )
    status, out, _ = learn(capsys, *flags)
    answer = json.loads(out)
    assert status == 0 and (answer["rows"], answer["k"], answer["moved"], answer["box"]) == (1502, 1, 2, [*BOX])
    (row,) = answer["concepts"]
    assert row["concept"] == "flooded" and row["error_private"]["mean"] < 0.1 > row["error_epsilon_10"]["mean"]
    assert answer["guarantee"]["epsilon"] == 20 and "set cover" in answer["guarantee"]["what"]

    table = np.genfromtxt(flood, delimiter=",", skip_header=1)[:1500]
    says = labels(row["pieces"], table[:, :2])
    assert np.mean(says != table[:, 2]) < 0.03 and 0.2 < says.mean() < 0.8
    region = shapely.geometry.shape(answer["region"])
    near = shapely.distance(region.boundary, shapely.points(table[:, :2])) < 0.02  # a cell is 0.005 by 0.003
    np.testing.assert_array_equal(shapely.contains_xy(region, *table[~near, :2].T), says[~near])
    assert answer["share"] == pytest.approx(region.area / 15, rel=5e-3)

    names = ["errors.json", "learned.json", "learned.png", "learned.svg"]
    assert sorted(path.name for path in (tmp_path / "new").iterdir()) == names
    assert answer == json.loads((tmp_path / "new" / "errors.json").read_text()) | {"files": answer["files"]}
    released = json.loads((tmp_path / "new" / "learned.json").read_text())
    assert released["region"] == answer["region"] and not {"rows", "moved", "seed", "error"} & released.keys()
    status = cli.main(["predict", str(tmp_path / "new" / "learned.json"), str(flood), "--json"])
    told = json.loads(capsys.readouterr().out)
    assert status == 0 and told["moved"] == {"lon": 1, "lat": 1} and told["rows"] == 1502
    assert np.mean(np.array(told["predictions"]["flooded"][:1500]) == says) > 0.99  # but for rounding to cells
    assert read_metadata(tmp_path / "new" / "learned.png")["config"]["box"] == [*BOX]


@pytest.mark.slow
def test_a_union_as_a_person_reads_it(flood, capsys):
    flags = (
        "--features",
        "lon",
        "lat",
        "--target",
        "flooded",
        "--trials",
        1,
        "--alpha",
        0.5,
        "--concepts",
        "Unions(triangles=2)",
    )
    learner = "UnionLearner(3, family=dpjax.mechanisms.cover:Pieces(directions=5))"
    status, out, _ = learn(capsys, flood, "--learner", learner, "--box", *BOX, "--bits", 12, "--epsilon", 20, *flags)
    assert status == 0 and "epsilon 10" in out and "moved to the edge of the box: 2 of 1502 rows" in out
    assert "1 keyed splits, 451 rows held out" in out and "pieces" in out and "(20, 1e-06)-DP" in out
    assert "set cover, 3 pieces" in re.sub(r"\s+", " ", out)


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("UnionLearner", {"rounds": None, "k": None, "family": None, "functions": SlabWedges(1023, Pieces(1023))}),
        ("UnionLearner(6)", {"rounds": 6, "k": None}),
        ("UnionLearner(6, 2)", {"rounds": 6, "k": 2}),
        ("UnionLearner(family=dpjax.mechanisms.cover:Pieces(directions=9))", {"family": Pieces(1023, 9)}),
        ("PolygonLearner", {"rounds": None, "k": None}),
        ("PolygonLearner(k=2)", {"rounds": None, "k": 2}),
    ],
)
def test_numbers_that_are_left_out_are_those_of_the_page(flood, written, expected):
    """k of such a learner is not the number of concepts."""
    asked = command._request(LearnCommand(table=flood, learner=written, box=BOX, bits=10))
    assert {name: getattr(asked.learner, name) for name in expected} == expected


def test_the_box_is_that_of_the_cells_centres():
    assert places.box_of(grids.on_plane(["x", "y"], (-1.0, 0.0, 3.0, 1.0), 2).grids) == (-0.5, 0.125, 2.5, 0.875)


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (["--learner", "PolygonLearner"], "never read from the data"),
        (["--learner", "PolygonLerner", "--box", *BOX], "did you mean PolygonLearner"),
        (["--learner", "UnionLearner", "--box", 0, 0, 0, 1], "X0 < X1"),
        (["--learner", "UnionLearner(directions=8)", "--box", *BOX], "expected one of concepts, estimate, family"),
        (["--learner", "UnionLearner", "--box", *BOX, "--bounds", "lon=0:1"], "give --box"),
        (["--learner", "UnionLearner", "--box", *BOX, "--features", "lon", "--target", "flooded"], "two features"),
        (["--learner", "UnionLearner", "--box", *BOX, "--features", "lon", "height", "--target", "flooded"], "column"),
        (["--learner", "UnionLearner", "--box", *BOX, "--features", "lon", "flooded", "--target", "lat"], "0 or 1"),
        (["--learner", "UnionLearner", "--box", *BOX, "--concepts", "Unions(0)"], "triangles"),
        (["--learner", "PolygonLearner", "--concepts", "Unions", "--box", *BOX], "ConvexPolygons"),
        (["--learner", "KLN", "--concepts", "Unions", "--box", *BOX], "pieces"),
        (["--learner", "PolygonLearner", "--box", *BOX, "--delta", 1], "delta"),
        (["--learner", "PolygonLearner", "--box", *BOX, "--trials", 0], "trials"),
        (["--learner", "KLN", "--box", *BOX], "give --bounds"),
        (
            [
                "--learner",
                "ConjunctionLearner(2)",
                "--features",
                "lon",
                "--target",
                "flooded",
                "--bounds",
                "lon=-99:0",
                "--clip",
            ],
            "Conjunctions",
        ),
    ],
)
def test_errors_say_what_to_do(flood, capsys, flags, words):
    status, _, err = learn(capsys, flood, *flags)
    assert status == 2 and words in err


def test_tables_that_are_no_places(tmp_path, capsys):
    for rows, header, words in (
        ([(1, 2, 0, 4)], "a,b,y,z", "three columns"),
        ([(1, 2, 0), (1, "", 1)], "a,b,y", "1 of 2 rows without: 'b' in 1 (row 2)"),
        ([(1, 2, 0), (1, "x", 1)], "a,b,y", "numbers"),
        ([], "a,b,y", "at least one row"),
    ):
        path = write(tmp_path / "bad.csv", rows, header)
        status, _, err = learn(capsys, path, "--learner", "PolygonLearner", "--box", *BOX)
        assert status == 2 and words in err


def test_a_picture_needs_shapely(flood, tmp_path, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "shapely", None)
    status, _, err = learn(capsys, flood, "--learner", "PolygonLearner", "--box", *BOX, "--out", tmp_path / "new")
    assert status == 2 and "dpjax[geo]" in err and not (tmp_path / "new").exists()
