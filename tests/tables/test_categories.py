"""Columns of texts: declared categories, each a column of 0 and 1; categories from the data are covered by nothing."""

import json

import jax.numpy as jnp
import numpy as np
import pytest

from dpjax import cli
from dpjax.baselines import ERM
from dpjax.concepts import Hypothesis, Stumps, Thresholds
from dpjax.core import wide
from dpjax.core.checks import InputError
from dpjax.tables import columns
from dpjax.tables.grids import Placing, categories_of, on_cube, on_lines
from dpjax.tables.learned import Learned

CITIES = ("Rome", "Bonn, old", "Paris")


@pytest.fixture(scope="module")
def people(tmp_path_factory):
    """Of 240 persons those in Rome are ill."""
    path = tmp_path_factory.mktemp("people") / "people.csv"
    rows = [f'{i % 90},"{CITIES[i % 3]}",{i % 4}.0,{int(i % 3 == 0)}' for i in range(240)]
    path.write_text("\n".join(["age,city,stage,ill", *rows, ""]))
    return path


def run(capsys, *words):
    status = cli.main([*map(str, words)])
    told = capsys.readouterr()
    return status, told.out, told.err


def test_an_undeclared_text_with_a_comma_is_shown_in_the_quotes_that_work(people):
    with pytest.raises(InputError, match='double quotes because of its comma: \'city="Bonn, old",'):
        columns.read(people, on_lines(["city"], [], 1, [], categories_of(["city=Rome,Paris"], ["city"])), ["ill"])


def test_declared_categories():
    found = categories_of(['city=Rome,"Bonn, old"', "a=b=1,2", "stage"], ["a", "a=b", "city", "stage"])
    assert found == {"city": ("Rome", "Bonn, old"), "a=b": ("1", "2"), "stage": ()}
    for wrong in ("city=Rome,Rome", "city=Rome,,Bonn", "city="):
        with pytest.raises(InputError, match="name each category once"):
            categories_of([wrong], ["city"])
    with pytest.raises(InputError, match="did you mean city"):
        categories_of(["cty=Rome"], ["city"])
    with pytest.raises(InputError, match="bounds or categories of a feature"):
        on_lines(["city"], ["city=0:1"], 1, [], {"city": CITIES})


def test_each_category_is_a_column_of_0_and_1(people):
    placing = on_lines(["age", "city"], ["age=0:100"], None, [], {"city": CITIES})
    assert placing.features == ("age", "city=Rome", "city=Bonn, old", "city=Paris") and placing.grids[1].bits == 16
    assert Placing.of(json.loads(json.dumps(placing.to_dict()))) == placing
    table = columns.read(people, placing, ["ill"])
    assert table.x.shape[:2] == (240, 4) and table.y.shape == (240, 4) and table.moved == 0
    assert on_lines(["city"], [], None, [], {"city": CITIES}).grids[0].bits == 1
    for bits in (1, 16):
        for flip in ((), ("city",)):
            placing = on_lines(["city"], [], bits, flip, {"city": CITIES})
            rome = on_lines(["city"], [], bits, flip, {"city": ["Rome"]})
            table = columns.read(people, placing, ["ill"])
            erm = ERM(Thresholds(placing.domain))
            last = 2**bits // 2
            concepts = Hypothesis.of(jnp.asarray(wide.encode(np.array([last, 0, 2**bits], np.uint64), 2)))
            learned = Learned(erm, concepts, placing, table.names)
            said = "1 iff city is not 'Rome'" if flip else "1 iff city is 'Rome'"
            assert [row["rule"] for row in learned.rules()] == [said, "0 everywhere", "1 everywhere"]
            one = Learned(erm, Hypothesis.of(concepts.concept[:1]), rome, ("ill",))
            np.testing.assert_array_equal(one.predict([np.array([0.0, 1.0])])[:, 0], [bool(flip), not flip])


def test_a_category_is_one_coordinate_of_a_cube(people):
    categories = {"city": CITIES, "stage": ("0", "1", "2", "3")}
    placing = on_cube(["age", "city", "stage"], ["age=0:100"], 3, categories)
    table = columns.read(people, placing, ["ill"])
    assert placing.domain.dimension == 7 + 3 + 4
    for j, text in enumerate(CITIES):
        np.testing.assert_array_equal(table.x[:, -1] >> (7 + j) & 1, [CITIES[i % 3] == text for i in range(240)])
        assert placing.literal(7 + j, 0) == f"1 iff city is not {text!r}"
    np.testing.assert_array_equal(table.x[:, -1] >> 12 & 1, np.arange(240) % 4 == 2)  # the file has 2.0
    assert placing.literal(12, 1) == "1 iff stage is '2'"
    assert Placing.of(json.loads(json.dumps(placing.to_dict()))) == placing
    several = [f"f{i}" for i in range(100)]
    bounds = [f"{name}=0:1" for name in several]
    assert on_cube(several, bounds).grids[0].bits == 5 and on_cube(["a"], ["a=0:1"]).grids[0].bits == 8
    with pytest.raises(InputError, match="at most 5 for 100 features and 3 categories"):
        on_cube([*several, "city"], bounds, 6, {"city": CITIES})
    assert ERM(Stumps(14)).concepts.domain == placing.domain


def test_other_texts_are_refused_or_count_as_none(people, tmp_path):
    placing = on_lines(["city"], [], None, [], {"city": ("Rome", "Paris")})
    with pytest.raises(InputError, match=r"categories 'Rome', 'Paris', got 'Bonn, old' in row 2; .*--clip"):
        columns.read(people, placing, ["ill"])
    table = columns.read(people, placing, ["ill"], clip=True)
    assert table.moved == 80 and (table.x[1, :, -1] == 2).all()
    holes = tmp_path / "holes.csv"
    holes.write_text("city,ill\nRome,1\n,0\nParis,0\n")
    with pytest.raises(InputError, match=r"1 of 3 rows without: 'city' in 1 \(row 2\)"):
        columns.read(holes, placing, ["ill"])
    assert columns.read(holes, placing, ["ill"], drop_missing=True).dropped == 1


def test_categories_are_public_or_there_is_no_guarantee(people, tmp_path, capsys):
    common = ("learn", people, "--features", "city", "--target", "ill", "--trials", 2)
    status, _, err = run(capsys, *common)
    assert status == 2 and "--categories 'name=a,b,c'" in err and "would leak it" in err
    status, out, _ = run(capsys, *common, "--categories", 'city=Rome,"Bonn, old",Paris', "--json", "--epsilon", 20)
    answer = json.loads(out)
    assert status == 0 and answer["guarantee"]["epsilon"] <= 20 and answer["bits"] == 1
    assert answer["concepts"][0]["rule"] == "1 iff city is 'Rome'" and answer["categories"] == {"city": [*CITIES]}
    status, out, _ = run(capsys, *common, "--categories", "city", "--out", tmp_path / "out")
    flags = "--categories 'city=\"Bonn, old\",Paris,Rome'"
    assert status == 0 and "warning: no privacy guarantee: the categories of 'city' were read from the table" in out
    assert flags in out and out.rstrip().endswith("no privacy guarantee")
    assert "categories 'Bonn, old', 'Paris', 'Rome'" in out and "--bits 1, chosen so that all features fit" in out
    for name in ("learned.json", "errors.json"):
        assert json.loads((tmp_path / "out" / name).read_text())["guarantee"] is None


def test_stumps_of_a_table_with_texts_from_a_file_of_flags(people, tmp_path, capsys):
    flags = tmp_path / "flags.toml"
    flags.write_text(
        'features = ["age", "city"]\ntarget = ["ill"]\nconcepts = "Stumps"\ntrials = 2\nepsilon = 20\n'
        '[bounds]\nage = [0, 100]\n[categories]\ncity = ["Rome", "Bonn, old", "Paris"]\n'
    )
    status, out, err = run(capsys, "learn", people, flags, "--out", tmp_path / "out")
    assert status == 0 and "1 iff city is 'Rome'" in out and "--bits 8, chosen" in out, err
    new = tmp_path / "new.csv"
    new.write_text("city;age\nRome;3\nBerlin;4\n")
    status, out, err = run(capsys, "predict", tmp_path / "out" / "learned.json", new, "--json")
    answer = json.loads(out)
    assert status == 0 and answer["predictions"] == {"ill": [1, 0]} and answer["moved"]["city"] == 1, err
    status, _, err = run(capsys, "predict", tmp_path / "out" / "learned.json", new)
    assert status == 0 and "city: 1 texts count as none of the categories\n" in err and "bound" not in err


def test_too_many_categories(tmp_path):
    path = tmp_path / "names.csv"
    path.write_text("name\n" + "".join(f"n{i}\n" for i in range(5000)))
    with pytest.raises(InputError, match="5000 different texts"):
        columns.categories_in(path, "name")
