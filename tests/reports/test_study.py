"""The report of a study: what it says, what it escapes, and that it needs nothing else."""

import shlex
import tomllib

import pytest

from dpjax.cli.arguments.studies import TrialCommand
from dpjax.cli.parsing import parse
from dpjax.core.checks import InputError
from dpjax.experiments.results.result import Result
from dpjax.reports import study_page
from dpjax.reports.measurements import missing
from dpjax.reports.study import as_toml
from dpjax.reports.words import constructor, trial_command
from tests.reports.conftest import POINTS, make_study
from tests.reports.reading import Page

FAILURE = {
    "learner": "point",
    "k": 4,
    "epsilon": 1.0,
    "delta": 1e-6,
    "alpha": 0.2,
    "beta": 0.1,
    "n": None,
    "error": "ValueError: no <b>rows</b>",
    "traceback": 'File "mine.py", line 3\n    x = y < z & "w"\n',
}
EVIL = "<script>alert('1')</script> & \"x\" --> ]]> $\\alpha$ {{7}}"


def read(data, source="results/demo"):
    page = Page(study_page(data, source))
    assert not page.wrong
    return page


@pytest.fixture(scope="module")
def text(study):
    return study_page(study, "results/demo")


@pytest.fixture(scope="module")
def page(text):
    page = Page(text)
    assert not page.wrong
    return page


def test_everything_that_was_measured_is_there(page, study):
    for words in (
        "Four learners",
        "What was asked",
        "How many examples n",
        "at most alpha = 0.2",
        "from 16 to 8192",
        "Points(domain=Domain(size=2**32))",
        "Independent(k=k, learner=KLN(",
        "packing, somewhere",
        "jax.random.key(7)",
        "version 0.10.2",
        "cpu:cpu",
        "dpjax curve study.toml --out results",
        "c" * 64,
        "dpjax trial results/demo --learners point --k 1 --epsilon 0.5 --n ",
    ):
        assert words in page.text, words
    star, point = study["n_star"][0], study["points"][3]
    assert f"point 1 0.5 {star['n_low']} {star['n_high']} {star['theorem']}" in page.text
    assert point["cell"] in page.text and f"{point['lower']:.3f}" in page.text


def test_it_can_be_read_by_everybody(page):
    assert page.named("html") == [{"lang": "en"}] and "Four learners" in page.text
    assert {"viewport", "color-scheme"} <= {own.get("name") for own in page.named("meta")}
    assert page.named("th") and all("scope" in own for own in page.named("th"))
    tables, figures = page.named("table"), page.named("figure")
    assert len(tables) == len(page.named("caption")) >= 4 and len(figures) == len(page.named("figcaption")) == 4
    assert len(page.named("svg")) == 8  # each for a wide and for a narrow screen
    assert all(own["role"] == "img" and len(own["aria-label"]) > 20 for own in page.named("svg"))


def test_figures_have_the_colors_of_the_page(text):
    figures = text[text.index("<figure>") : text.rindex("</figure>")]
    assert "var(--line0)" in figures and "var(--paper)" in figures and "#393897" not in figures
    assert "point" in figures  # text is text


def test_equal_results_give_equal_files(text):
    assert text == study_page(make_study(), "results/demo")


def test_names_of_a_person_are_text():
    data = make_study((EVIL, "b"), (1,), (1.0,), title=EVIL, device=EVIL, failures=[FAILURE | {"learner": EVIL}])
    data["versions"] = {EVIL: EVIL}
    data["n_star"][0]["below_by"] = EVIL
    data["config"]["task"]["concepts"] = {"use": EVIL, "fields": {EVIL: EVIL}}
    page = read(data, EVIL)
    assert "script" not in {name for name, _ in page.tags} and page.text.count("alert('1')") > 12
    assert f"--learners {shlex.quote(EVIL)}" in page.text


def test_all_alphabets_and_letters_that_no_file_may_have(drawn_once):
    strange = "\x1b[31m\x00\x07\ud800"
    names = (f"a {strange}", "学習者 \N{GREEK SMALL LETTER LAMDA}", "متعلّم", "a🙂b", "naïve")
    data = make_study(names, (1,), (1.0,), title=f"Ünï {strange}", failures=[FAILURE | {"traceback": strange}])
    text = study_page(data)
    page = Page(text.encode().decode())
    assert not page.wrong and all(name in page.text for name in names[1:])
    assert r"\x1b[31m\x00\x07\ud800" in page.text and not set("\x1b\x00\x07") & set(text)


def test_failures_have_their_tracebacks(study, drawn_once):
    page = read(study | {"failures": [FAILURE, FAILURE | {"n": 64}], "points": [], "n_star": []})
    assert "Points that failed: 2" in page.text and "ValueError: no <b>rows</b>" in page.text
    assert 'x = y < z & "w"' in page.text and "point, k = 4, epsilon = 1, n = 64" in page.text
    assert sum(own.get("class") == "printed" for own in page.named("details")) >= 2


def test_a_partial_result_says_what_is_missing(study, drawn_once):
    cut = {name: [row for row in study[name] if row["learner"] == "point"] for name in ("points", "n_star")}
    data = study | cut | {"left": 4, "exponents": [], "exponents_all_k": []}
    assert missing(data)[0] == "kln-basic, k = 1, epsilon = 0.5" and len(missing(data)) == 4
    page = read(data)
    assert "partial" in page.text and "not measured yet: 4: kln-basic, k = 1, epsilon = 0.5;" in page.text
    assert "Exponents" not in page.text
    wide = make_study(("a", "b"), tuple(range(1, 11)), (1.0,), points=[], n_star=[])
    assert len(missing(wide)) == 13 and missing(wide)[-1] == "and 8 others"


def test_an_empty_study():
    page = read(make_study(points=[], n_star=[], exponents=[], exponents_all_k=[], left=4))
    assert "Nothing is measured yet." in page.text and not page.named("figure")
    least = {"config": {}, "seed": 0, "versions": {}, "points": [], "n_star": [], "exponents": []}
    assert "Nothing is measured yet." in read(least).text


def test_open_brackets_and_curves_without_a_search(study, drawn_once):
    stars = [row | {"n_low": None, "n_high": None} for row in study["n_star"]]
    page = read(study | {"n_star": stars, "exponents": [], "exponents_all_k": []})
    assert "< 16" in page.text and "> 8192" in page.text and "was found to be enough" in page.text
    page = read(study | {"n_star": [], "exponents": [], "exponents_all_k": []})
    assert "n* was not searched" in page.text and len(page.named("figure")) == 1


def test_a_search_that_found_nothing(drawn_once):
    data = make_study(("a",), exponents=[], exponents_all_k=[])
    nothing = [row | {"n_low": None, "n_high": None, "theorem": None} for row in data["n_star"]]
    assert len(read(data | {"n_star": nothing}).named("figure")) == 1
    assert len(read(data | {"points": []}).named("figure")) == 3  # brackets before the first curve
    page = read(data | {"n_star": nothing, "points": []})
    assert not page.named("figure") and "was found to be too small" in page.text


@pytest.mark.parametrize(
    "broken",
    [{"points": [{}]}, {"points": 3}, {"n_star": ["a"]}, {"n_star": [{"learner": "a", "k": 1}]}, {"exponents": [[]]}],
)
def test_rows_that_no_study_writes_are_refused(study, broken):
    with pytest.raises(InputError, match="result"):
        study_page(study | broken)


def test_large_grids_have_a_figure_for_each_k(drawn_once):
    data = make_study(("a",), (1, 2, 4), (0.25, 0.5, 1.0, 2.0))
    assert len(read(data).named("figure")) == 3 + 3
    text = read(make_study(("a",), tuple(range(1, 11)), (1.0,))).text
    assert "4 other values of k are in the tables alone." in text


def test_the_commands_are_those_of_the_command_line():
    row = {"learner": "it's $x; rm", "k": 8, "epsilon": 0.1 + 0.2, "n": 512}
    own = {"learners": {"a": {"by_k": {"1": {"use": "mine.deep:Learner", "fields": {}}}}}, "task": {"use": "dpjax.x:f"}}
    words = shlex.split(trial_command("my results/a", own, row, 7))
    assert words[:2] == ["dpjax", "trial"]
    command = parse(words[1:])
    assert isinstance(command, TrialCommand) and str(command.config) == "my results/a" and command.trial == 7
    assert (command.learners, command.k, command.n) == ((row["learner"],), (8,), (512,))
    assert command.epsilon == (0.1 + 0.2,) and command.imports == ("mine.deep",)


def test_a_configuration_in_toml():
    config = {
        "title": None,
        "seed": 3,
        "task": {"concepts": POINTS, "noise": 1e-06, "targets": None},
        "learners": {'a "b" \\ \x7f\n': {"by_k": {"1": {"use": "KLN", "fields": {"on": True, "all": [[1, 2.5], []]}}}}},
        "empty": {},
        "sweep": {"n": "search"},
    }
    assert as_toml(config) is None  # a value that TOML has no word for
    config["task"].pop("targets")
    found = tomllib.loads(as_toml(config))
    assert found == {key: value for key, value in config.items() if value is not None}


def test_constructors():
    assert constructor("KLN(Points(4))") == "KLN(Points(4))" and constructor(2**20) == "2**20"
    assert constructor({"enum": "a:B", "member": "C"}) == "C" and constructor([1, True, None]) == "[1, True, None]"
    each = {"by_k": {"1": {"use": "A", "fields": {}}, "2": {"use": "B", "fields": {"k": 2}}}}
    assert constructor(each) == "for k = 1: A(); for k = 2: B(k=2)"


def test_a_result_writes_its_report(study, drawn_once, tmp_path):
    path = Result(study, tmp_path / "demo").report(tmp_path / "new" / "demo.html")
    assert f"dpjax trial {tmp_path}/demo" in Page(path.read_text()).text
    for wrong in (tmp_path / "demo.pdf", 3):
        with pytest.raises(InputError, match="path"):
            Result(study).report(wrong)
