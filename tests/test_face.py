"""What ``import dpjax`` gives: the nouns, each from its one home, and the cell of the README, word for word."""

import re
import tomllib
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import dpjax as dp


def test_every_noun_is_there():
    for name in dp.__all__:
        assert getattr(dp, name) is not None and name in dir(dp)
    assert re.fullmatch(r"\d+\.\d+\.\d+(\.dev\d+)?(\+[a-z0-9.]+)?", dp.__version__)
    assert dir(dp) == sorted([*dp.__all__, "__version__"]), "and nothing else"


@pytest.mark.parametrize(
    ("name", "near"),
    [
        ("Treshold", "; did you mean Thresholds?"),
        ("kln", "; did you mean KLN?"),
        ("stdy", "; did you mean Study?"),
        ("point_learner", "; did you mean PointLearner?"),
        ("mechanism", "; did you mean mechanisms?"),
        ("Nothing", ""),
        ("_ipython_display_", ""),
        ("__wrapped__", ""),
    ],
)
def test_a_mistyped_noun_gets_the_nearest_one(name, near):
    with pytest.raises(AttributeError) as caught:
        getattr(dp, name)
    assert str(caught.value) == f"module 'dpjax' has no attribute '{name}'{near}"


def test_the_packages_for_ones_own_code_need_no_further_import(fresh):
    """In a process of its own: here others have imported them."""
    program = (
        "import json, dpjax as dp\n"
        "print(json.dumps([dp.testing.check_learner.__name__, dp.mechanisms.exponential.__name__, "
        "dp.dimensions.vc_dimension([[0]]).value, dp.tables.read.__name__, dp.laws.Law.__name__]))"
    )
    assert fresh(program) == ["check_learner", "exponential", 0, "read", "Law"]


def test_type_checkers_find_an_editable_installation():
    """By a path; setuptools' default is an import hook, which they do not run."""
    project = tomllib.loads((Path(dp.__file__).parents[1] / "pyproject.toml").read_text(encoding="utf-8"))
    assert project["tool"]["distutils"]["editable_wheel"]["mode"] == "compat"
    assert (Path(dp.__file__).parent / "py.typed").is_file()


def test_every_learner_and_class_is_a_noun():
    from dpjax import concepts, learners

    for package, face in ((learners, "learn"), (concepts, "predict")):
        exported = {name for name, kind in vars(package).items() if isinstance(kind, type) and hasattr(kind, face)}
        assert exported <= set(dp.__all__)


def test_importing_it_imports_nothing_heavy(fresh):
    program = (
        "import json, sys, dpjax\n"
        "print(json.dumps([name in sys.modules for name in ('jax', 'scipy', 'pyarrow', 'dp_accounting')]))"
    )
    assert not any(fresh(program))


def test_studies_and_learners_need_no_figures_and_no_accountants(fresh):
    program = (
        "import json, sys, dpjax as dp\ndp.Study, dp.KLN, dp.Task\n"
        "names = ('matplotlib', 'dp_accounting', 'optax', 'chex', 'pydantic')\n"
        "print(json.dumps([name in sys.modules for name in names]))"
    )
    assert not any(fresh(program))


def test_the_first_cell():
    concepts = dp.Thresholds(dp.Domain(2**32))
    task = dp.Task(concepts, dp.uniform(concepts.domain))
    learner = dp.KLN(concepts)
    plan = learner.plan(dp.Privacy(1.0), dp.Accuracy(0.1, 0.1))

    def error(key, n, plan):
        of_data, of_learner = jax.random.split(key)
        sample, target = task.draw(of_data, n, capacity=1024)
        return task.error(learner.learn(of_learner, sample, plan), target)

    keys, sizes = jax.random.split(jax.random.key(0), 200), jnp.array([16, 64, 256, 1024])
    curve = jax.jit(jax.vmap(jax.vmap(error, (0, None, None)), (None, 0, None)))(keys, sizes, plan)
    assert curve.shape == (4, 200, 1) and curve.dtype == jnp.float32
    means = np.asarray(curve).mean((1, 2))
    assert np.all(np.diff(means) < 0) and means[-1] < 0.01 < 0.05 < means[0]


def test_a_learner_is_an_argument_of_a_jitted_function():
    learner = dp.KLN(dp.Points(dp.Domain(8)))
    assert jax.tree.leaves(learner) == []
    traced = []

    @jax.jit
    def size(one, n):
        traced.append(one)
        return n + one.concepts.size

    assert [int(size(one, 1)) for one in (learner, dp.KLN(dp.Points(dp.Domain(8))))] == [9, 9]
    assert len(traced) == 1 and int(size(dp.KLN(dp.Points(dp.Domain(9))), 1)) == 10
