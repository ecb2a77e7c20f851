"""The snippets of docs/explain run in order, one namespace a page, and print what the page says that they print."""

import re

import jax
import pytest

import dpjax as dp
from dpjax import attacks, audit, evidence, mechanisms, sanitizers
from dpjax.attacks.optimum import Goal, optimum
from dpjax.core.plans import same_plan
from dpjax.dimensions import families
from scripts import explain_pictures
from tests.conftest import ROOT

EXPLAIN = ROOT / "docs" / "explain"
BLOCK = re.compile(r"^```python\n(.*?)^```(?:\n```text\n(.*?)^```)?", re.MULTILINE | re.DOTALL)
PAGES = sorted(str(path.relative_to(EXPLAIN)) for path in EXPLAIN.rglob("*.md"))
SNIPPETS = [page for page in PAGES if BLOCK.search((EXPLAIN / page).read_text())]
PITFALLS = [page for page in PAGES if page.startswith("pitfalls/") and not page.endswith("index.md")]


def expected(code, text):
    """What a snippet prints: the block of text after it, or the comments behind its calls of print."""
    if text:
        return text.splitlines()
    return re.findall(r"^ *print\(.*\)  # (.*)$", code, re.MULTILINE)


@pytest.mark.parametrize("page", SNIPPETS)
def test_snippets_print_what_the_page_says(page, capsys):
    space = {"__name__": "__main__"}
    for number, (code, text) in enumerate(BLOCK.findall((EXPLAIN / page).read_text())):
        exec(compile(code, f"{page}, snippet {number}", "exec"), space)
        assert capsys.readouterr().out.splitlines() == expected(code, text), (page, number)


def test_every_print_has_its_words():
    for page in SNIPPETS:
        for code, text in BLOCK.findall((EXPLAIN / page).read_text()):
            assert text or code.count("print(") == len(expected(code, text)), (page, code)


@pytest.mark.parametrize("page", PITFALLS)
def test_a_pitfall_has_wrong_code_its_number_and_right_code(page):
    text = (EXPLAIN / page).read_text()
    wrong, shown, right = (text.index(f"## {one}") for one in ("The wrong code", "What it shows", "The right code"))
    assert wrong < shown < right
    for part in (text[wrong:shown], text[shown:right], text[right:]):
        assert "```python" in part
    row = next(line for line in (EXPLAIN / "pitfalls/index.md").read_text().splitlines() if page.split("/")[1] in line)
    for number in re.findall(r"\d+\.\d\d+|\d\.\d\b", row):
        assert number in text, (page, number)


def test_there_are_seven_pitfalls():
    assert len(PITFALLS) == 7


@pytest.mark.parametrize("page", [page for page in PAGES if not page.endswith(("index.md", "assumptions.md"))])
def test_a_page_is_short(page):
    assert 20 < len((EXPLAIN / page).read_text().splitlines()) <= 85


def test_every_page_is_in_the_index():
    for index in (EXPLAIN / "index.md", EXPLAIN / "pitfalls/index.md"):
        text = index.read_text()
        tree = re.search(r"```\{toctree\}\n:hidden:\n\n(.*?)```", text, re.DOTALL)[1].split()
        assert set(tree) == {path.stem for path in index.parent.glob("*.md")} - {"index"} | (
            {"pitfalls/index"} if index.parent == EXPLAIN else set()
        )
        for name in tree:
            assert f"]({name}.md)" in text


@pytest.mark.parametrize("name", explain_pictures.PICTURES)
def test_a_picture_is_what_the_script_draws(name):
    drawn = explain_pictures.PICTURES[name]().svg()
    assert drawn == (EXPLAIN / "figures" / f"{name}.svg").read_text()
    assert "http" not in drawn.replace("http://www.w3.org/2000/svg", "")
    assert any(f"figures/{name}.svg" in (EXPLAIN / page).read_text() for page in PAGES)


def refused():
    text = (EXPLAIN / "assumptions.md").read_text()
    return re.findall(r"^\|[^|]*\|[^|]*\| `(.*)` \|$", text, re.MULTILINE)


@pytest.mark.parametrize("expression", refused())
def test_what_is_beyond_a_limit_is_refused(expression):
    concepts = dp.Points(dp.Domain(8))
    space = {
        "dp": dp,
        "audit": audit,
        "mechanisms": mechanisms,
        "sanitizers": sanitizers,
        "attacks": attacks,
        "Goal": Goal,
        "families": families,
        "optimum": optimum,
        "concepts": concepts,
        "task": dp.Task(concepts, dp.uniform(concepts.domain)),
        "learner": dp.KLN(concepts),
        "relation": dp.Neighboring.REPLACE_ONE,
        "goal": Goal(((0,), (1,)), alpha=0.1),
        "target": evidence.learner_target(dp.KLN(concepts), "KLN"),
    }
    with pytest.raises(dp.InputError):
        eval(expression, space)


def test_the_limits_are_listed():
    assert len(refused()) >= 25


@pytest.mark.parametrize(
    "learner",
    [
        lambda of: dp.PointLearner(dp.Points(dp.Domain(8)), neighboring=of),
        lambda of: dp.ParityLearner(dp.Parities(8), neighboring=of),
        lambda of: dp.ImproperVC1(dp.Thresholds(dp.Domain(8)), neighboring=of),
        lambda of: dp.ProperVC1(dp.Tree.of_parents([0, 0, 0]), neighboring=of),
        lambda of: dp.EmpiricalLearner(dp.KLN(dp.Points(dp.Domain(8)), of)),
        lambda of: dp.Boosted(dp.KLN(dp.Points(dp.Domain(8)), of)),
        lambda of: dp.Confident(dp.KLN(dp.Points(dp.Domain(8)), of)),
    ],
)
def test_learners_that_need_n_refuse_add_or_remove_one(learner):
    assert learner(dp.Neighboring.REPLACE_ONE).neighboring is dp.Neighboring.REPLACE_ONE
    with pytest.raises(dp.InputError, match=r"replace-one|REPLACE_ONE"):
        learner(dp.Neighboring.ADD_OR_REMOVE_ONE)


def test_learners_that_need_delta_refuse_none():
    accuracy, domain = dp.Accuracy(0.1, 0.1), dp.Domain(8)
    tree = dp.Tree.of_parents([0, 0, 0])
    for learner in (
        dp.PointLearner(dp.Points(domain)),
        dp.StablePoints(dp.Points(domain)),
        dp.StableNodes(tree),
        dp.ParityLearner(dp.Parities(8)),
        dp.ImproperVC1(dp.Thresholds(domain)),
        dp.ProperVC1(tree),
        dp.SparseAggregate(dp.GloballyStable(dp.Finite.of([[0, 0], [1, 1]]))),
    ):
        learner.plan(dp.Privacy(1.0, 1e-6), accuracy)
        with pytest.raises(dp.InputError, match="delta"):
            learner.plan(dp.Privacy(1.0), accuracy)


@pytest.mark.parametrize(
    "learner",
    [
        lambda of: dp.KLN(dp.Points(dp.Domain(8)), of),
        lambda of: dp.HashedPoints(dp.Points(dp.Domain(8)), 1, neighboring=of),
        lambda of: dp.StablePoints(dp.Points(dp.Domain(8)), of),
        lambda of: dp.StableNodes(dp.Tree.of_parents([0, 0, 0]), of),
        lambda of: dp.ThresholdMedian(dp.Thresholds(dp.Domain(8)), of),
        lambda of: dp.ConjunctionLearner(dp.Conjunctions(8), 2, neighboring=of),
        lambda of: dp.UnionLearner(dp.Unions(64, 2), neighboring=of),
    ],
)
def test_plans_do_not_use_a_private_n(learner):
    own = learner(dp.Neighboring.ADD_OR_REMOVE_ONE)
    budget = dp.Privacy(1.0, 1e-6), dp.Accuracy(0.1, 0.1)
    assert same_plan(own.plan(*budget, 10), own.plan(*budget, 1000))


def test_a_raw_key_is_refused():
    with pytest.raises(dp.InputError, match="key"):
        dp.keys.stream(jax.random.PRNGKey(0), "data")
