"""`dpjax audit`: statuses, JSON, reports; and a row for every promise in a docstring."""

import inspect
import json
import re
from dataclasses import replace
from textwrap import indent

import numpy as np
import pytest

from dpjax import accounting, audit, cli, evidence, learners, mechanisms, sanitizers
from dpjax.accounting import Guarantee
from dpjax.audit import Pair, Target
from dpjax.audit.target.databases import show_numbers
from dpjax.baselines import ERM
from dpjax.cli.commands import audit as audit_command
from dpjax.concepts import Domain, Points
from dpjax.core.checks import InputError
from dpjax.core.types import Neighboring, Privacy
from dpjax.learners import KLN
from dpjax.mechanisms import cover, median
from dpjax.plots import read_metadata

BUDGET = Privacy(1.0, 1e-6)


def run(capsys, *arguments):
    status = cli.main(["audit", *arguments])
    out, err = capsys.readouterr()
    return status, out, err


def own_target():
    """A target that claims what it does not keep."""
    zero, one = np.zeros((), np.int32), np.ones((), np.int32)
    claim = Guarantee(0.1, 0.0, Neighboring.REPLACE_ONE, "randomized response at epsilon 1")
    law = lambda data, p: mechanisms.randomized_response(data, 1.0)  # noqa: E731
    return Target(
        "mine",
        lambda e, d: claim,
        lambda key, data, p: law(data, p).sample(key),
        list,
        lambda: [Pair(zero, one, show_numbers)],
    )


class OwnLearner(KLN):
    pass


def vacuous_target():
    """Says the same whatever it is given."""
    target = evidence.mechanism_target("stability")
    run = lambda key, data, plan: np.zeros((), np.int32)  # noqa: E731
    return replace(target, run=run, table=audit.table_of_run(run))


def not_a_target():
    return 3


def not_private():
    return ERM(Points(Domain(3)))


def test_consistent_violated_and_unusable_have_their_statuses(capsys):
    status, out, _ = run(capsys, "stability", "--json")
    answer = json.loads(out)
    assert status == 0 and answer["verdict"] == "consistent with the claim"
    status, out, _ = run(capsys, "stability", "--calibration", "printed", "--json")
    answer = json.loads(out)
    assert status == 1 and answer["verdict"] == "VIOLATED" and answer["delta_found"] == pytest.approx(0.363, abs=1e-3)
    assert answer["claim"] == {"epsilon": 1.0, "delta": 1e-6, "relation": "replace-one"}
    expected = "target calibration claim method evidence epsilon_found delta_found confidence witness verdict"
    assert {*expected.split()} <= answer.keys()
    status, out, _ = run(capsys, f"{__name__}:vacuous_target")
    assert status == 2 and "vacuous: one outcome" in out
    status, out, err = run(capsys, "stabilty")
    assert status == 2 and "did you mean stability" in err and not out


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["ERM"], "ERM, which is not private"),
        (["Points"], "did you mean point"),
        (["BitReduction", "--calibration", "printed"], "calibration: expected corrected for BitReduction"),
        ([f"{__name__}:not_private"], "claims privacy"),
        ([], "--all"),
        (["stability", "--all"], "--all"),
        (["exponential", "--calibration", "printed"], "corrected"),
        (["kln-basic", "--calibration", "printed"], "corrected"),
        (["--all", "--calibration", "printed"], "corrected"),
        (["--all", "--relation", "add-or-remove-one"], "relation"),
        (["stability", "--epsilon", "0"], "epsilon"),
        (["stability", "--delta", "1.5"], "delta"),
        (["randomized_response", "--method", "replay"], "no question"),
        (["stability", "--method", "guess"], "method"),
        (["stability", "--relation", "cousins"], "relation"),
        (["kln-basic", "--relation", "add-or-remove-one"], "relation"),
        (["no_such_module:thing"], "a module that can be found"),
        (["kln-points", "--search", "3"], "search: expected 0 for method exact, got 3"),
        (["kln-points", "--distance", "2"], "distance: expected 1 for method exact, got 2"),
        ([f"{__name__}:not_a_target"], "a subclass of dpjax.Learner"),
        (["dpjax.learners:KLN"], "the class KLN"),
        ([f"{__name__}:missing"], "check the name"),
        (["choosing", "--delta", "0"], "delta"),
        (["point", "--delta", "0"], "delta"),
    ],
)
def test_bad_input(capsys, monkeypatch, arguments, says):
    monkeypatch.setitem(__import__("sys").modules, __name__, __import__("sys").modules[__name__])
    status, out, err = run(capsys, *arguments)
    assert status == 2 and says in err and not out


def test_targets_of_ones_own(capsys, monkeypatch):
    import sys

    module = type(sys)("somebodys")
    module.own_target, module.OwnLearner = own_target, OwnLearner
    module.learner = lambda concepts, k: learners.Independent(OwnLearner(concepts), k)
    monkeypatch.setitem(sys.modules, "somebodys", module)
    status, out, _ = run(capsys, "somebodys:own_target", "--trials", "20000", "--json")
    answer = json.loads(out)
    assert status == 1 and answer["method"] == "statistical" and 0.9 < answer["epsilon_found"] <= 1.01
    status, out, _ = run(capsys, "somebodys:learner", "--json")
    assert status == 0 and json.loads(out)["method"] == "exact"


def test_reports_and_figure(capsys, tmp_path):
    status, out, _ = run(capsys, "stability", "--calibration", "printed", "--out", str(tmp_path))
    page = (tmp_path / "audit.md").read_text()
    assert status == 1 and "\n  event " in out and indent(out, "    ") in page, "the event is in both"
    answer = json.loads((tmp_path / "audit.json").read_text())
    assert answer["verdict"] == "VIOLATED"
    assert "| stability (printed) | replace-one | (1, 1e-06) |" in (tmp_path / "audit.md").read_text()
    about = read_metadata(tmp_path / "audit.png")
    assert about["witness"] == answer["witness"] and (tmp_path / "audit.svg").exists()


def test_an_interrupted_audit_of_everything_shows_its_rows(capsys, monkeypatch):
    exact = audit_command.find("stability", Neighboring.REPLACE_ONE, "corrected")

    def run_or_stop(target, privacy, *rest):
        if privacy.epsilon == 3:
            raise KeyboardInterrupt
        return real(target, privacy, *rest)

    real = audit_command._run
    monkeypatch.setattr(audit_command, "_run", run_or_stop)
    for budgets, said in (
        ((1.0, 3.0, 2.0), "interrupted: 2 of 3 claims are not audited"),
        ((3.0,), "nothing was stored"),
    ):
        rows = [(exact, Privacy(epsilon, 1e-6)) for epsilon in budgets]
        monkeypatch.setattr(audit_command, "everything", lambda privacy, rows=rows: rows)
        status, out, err = run(capsys, "--all")
        assert status == 130 and said in out + err and ("stability" in out) == (len(budgets) > 1)


def test_rows_of_everything_have_their_own_seeds_and_share_one_error_probability(capsys, tmp_path, monkeypatch):
    honest = replace(own_target(), claim=lambda e, d: Guarantee(e, 0.0, Neighboring.REPLACE_ONE, "randomized response"))
    other = replace(honest, name="other")
    rows = [(honest, Privacy(1.0, 0.0)), (honest, Privacy(2.0, 0.0)), (other, Privacy(1.0, 0.0))]
    exact = audit_command.find("stability", Neighboring.REPLACE_ONE, "corrected")
    monkeypatch.setattr(audit_command, "everything", lambda privacy: [*rows, (exact, privacy)])
    flags = ("--all", "--trials", "2000", "--confidence", "0.9", "--seed", "5", "--out", str(tmp_path))
    status, out, _ = run(capsys, *flags)
    assert status == 0 and "all rows together: a correct claim is refuted with probability at most 0.1" in out
    assert "all rows together" in (tmp_path / "audit.md").read_text()
    answer = json.loads((tmp_path / "audit.json").read_text())
    assert answer["confidence"] == 0.9
    levels = [1 - report["confidence"] for report in answer["reports"]]
    assert levels == pytest.approx([0.1 / 3] * 3 + [0]), "an exact row raises no false alarm and has no level"
    seeds = [report["seed"] for report in answer["reports"][:3]]
    assert len(set(seeds)) == 3 and seeds == [audit.seed_of(audit_command.name_of_row(*row), 5) for row in rows]
    assert audit.seed_of(audit_command.name_of_row(*rows[0]), 6) not in seeds
    assert run(capsys, *flags, "--json")[0] == 0  # the same rows again


def test_a_row_of_everything_that_cannot_be_listed_must_say_so(capsys, monkeypatch):
    """Levels are divided by what targets say: one that is found out later would raise the false alarm."""
    noise = audit_command.find("conjunction-noisy", Neighboring.REPLACE_ONE, "corrected")
    assert noise.table is None and "too many values" in noise.unlisted
    silent = replace(noise, table=audit.table_of_run(noise.run), unlisted="")
    monkeypatch.setattr(audit_command, "everything", lambda privacy: [(silent, privacy)])
    status, _, err = run(capsys, "--all")
    assert status == 2 and "NoisyCount" in err
    status, _, err = run(capsys, "conjunction-noisy", "--method", "exact")
    assert status == 2 and "too many values" in err


def test_every_name_of_the_list_is_audited_or_says_what_covers_it(capsys):
    assert cli.main(["list", "--json"]) == 0
    entries, refused = json.loads(capsys.readouterr().out)["entries"], {}
    names = [entry["name"] for entry in entries if entry["guarantee"]]
    for name in names:
        try:
            found = audit_command.find(name, Neighboring.REPLACE_ONE, "corrected")
            assert found.name == name or any(one.endswith(f".{name}") for one in found.covers)
        except InputError as error:
            refused[name] = str(error)
    assert "not private" in refused.pop("ERM")
    for name, words in refused.items():
        assert f"a row that covers {name}: " in words
        for row in (
            words.partition(f"{name}: ")[2].partition(", got")[0].replace("advanced, tight", "advanced").split(", ")
        ):
            audit_command.find(row, Neighboring.REPLACE_ONE, "corrected")


def test_the_name_of_a_learner_leads_to_all_of_its_worlds(capsys):
    status, out, _ = run(capsys, "BitReduction", "--json")
    answer = json.loads(out)
    assert status == 0 and not answer["violated"] and answer["left"] == 0
    worlds = ["bits", "bits-sets", "bits-weights"]
    assert [report["target"] for report in answer["reports"]] == [world for world in worlds for _ in range(2)]
    found = audit_command.find("NearestParity", Neighboring.REPLACE_ONE, "corrected")
    assert found.name == "nearest-parity"  # its only one


def promises():
    """Everything public with a line on privacy."""
    for package in (mechanisms, median, cover, sanitizers, learners, accounting):
        for name, thing in vars(package).items():
            texts = [
                inspect.getdoc(part) or "" for part in (thing, getattr(thing, "guarantee", None)) if callable(part)
            ]
            text = "\n".join(texts)
            if re.search(r"^Privacy(, \w+)?:(?! none)", text, re.MULTILINE):
                yield f"{package.__name__}.{name}"


def test_every_promise_has_a_row_in_the_report_of_everything():
    covered = {name for target, _ in audit_command.everything(BUDGET) for name in target.covers}
    assert set(promises()) == covered & set(promises()), set(promises()) - covered
    assert len(covered) >= 15


@pytest.mark.slow
def test_everything_is_consistent(capsys, tmp_path):
    assert run(capsys, "--all", "--out", str(tmp_path))[0] == 0
    answer = json.loads((tmp_path / "audit.json").read_text())
    assert len(answer["reports"]) == len(audit_command.everything(BUDGET))
    assert sum(report["seconds"] for report in answer["reports"]) < 600
    told = {report["target"] for report in answer["reports"] if not report["verdict"].startswith("vacuous")}
    assert told == {report["target"] for report in answer["reports"]}, "an audit that shows nothing at any budget"
