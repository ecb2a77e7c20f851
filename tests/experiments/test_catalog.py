"""Names of learners and classes: every pair is a learner or an error that says what to do; sets of names agree."""

from contextlib import suppress
from typing import get_args

import pytest

from dpjax import cli
from dpjax.concepts import Domain
from dpjax.core.checks import InputError
from dpjax.experiments import catalog
from dpjax.experiments.config import Problem


def test_the_command_line_knows_every_class():
    assert set(get_args(Problem.model_fields["concepts"].annotation)) == set(catalog.CLASSES)


@pytest.mark.parametrize("kind", list(catalog.CLASSES))
def test_a_learner_fits_or_says_what_does_not(kind):
    concepts = catalog.CLASSES[kind](Domain(2**8))
    fitting = []
    for name in catalog.learner_names():
        with suppress(InputError):
            fitting.append((name, catalog.learner(name, concepts, 1).concepts))
    assert fitting and all(type(own) is type(concepts) for _, own in fitting)
    expected = {"polygons": ["polygon"], "unions": ["union"], "conjunctions": ["conjunction"]}.get(kind)
    if expected:
        assert [name for name, _ in fitting if not name.startswith(("kln", "erm", "empirical"))] == expected
    if kind in ("polygons", "unions"):
        assert len(fitting) == 1
        with pytest.raises(InputError, match="polygon for polygons"):
            catalog.learner("empirical", concepts, 1)


@pytest.mark.parametrize("name", ["conjunction", "polygon", "union"])
def test_plans_of_set_covers(name, capsys):
    flags = ("--problem.concepts", f"{name}s", "--problem.distribution", "uniform", "--problem.domain-size", "2**12")
    sweep = ("--sweep.k", "1", "--sweep.learners", name, "--sweep.alpha", "0.4")
    assert cli.main(["plan", *flags, *sweep]) == 0
    assert "set cover" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (["--problem.concepts", "unions"], "expected one of uniform, got 'heavy'"),
        (["--problem.concepts", "polygons", "--problem.distribution", "uniform", "--problem.domain-size", "2**62"],
         "domain_size: expected a whole number in [16, 1152921504606846976]"),
        (["--problem.concepts", "polygons", "--problem.distribution", "uniform", "--sweep.learners", "union"],
         "expected Unions, got ConvexPolygons"),
        (["--problem.concepts", "polygons", "--problem.distribution", "uniform", "--sweep.learners", "polygon",
          "--sweep.k", "4"], "k: expected 1 for polygon"),
        (["--problem.concepts", "conjunctions", "--problem.distribution", "uniform", "--sweep.learners", "vc1-auto"],
         "a tree for vc1-auto"),
        (["--sweep.learners", "math:pi"], "got math:pi, a float; write: build = lambda concepts, k: pi"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_said(flags, words, capsys):
    k = [] if "--sweep.k" in flags else ["--sweep.k", "1"]
    assert cli.main(["plan", *flags, *k]) == 2
    assert words in capsys.readouterr().err
