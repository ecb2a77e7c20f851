"""`dpjax warm`: what it compiles, a later process does not."""

import json

import jax
import pytest

from dpjax import cli
from dpjax.experiments.run.warming import settings_of
from dpjax.experiments.sweep.capacity import capacity
from tests.cli.test_work import OWN, REPOSITORY, dpjax
from tests.experiments import fast

RAISES = """
from dataclasses import dataclass
from tests.experiments import fast

@dataclass(frozen=True)
class Small(fast.Coin):
    def learn(self, key, sample, plan):
        if sample.x.shape[0] > 16:
            raise ArithmeticError("too large")
        return super().learn(key, sample, plan)
"""


@pytest.fixture
def config(tmp_path):
    path = tmp_path / "study.toml"
    path.write_text(fast.TOML.format(sizes=[3, 9, 20, 70], trials=100))
    return path


def test_a_later_process_compiles_nothing(tmp_path, config):
    store, own = tmp_path / "store", {"JAX_COMPILATION_CACHE_DIR": str(tmp_path / "programs")}
    assert dpjax("curve", config, "--out", store, "--prepare", *OWN, **own)[0] == 0
    status, output, said = dpjax("warm", store, "--json", *OWN, **own)
    assert status == 0, said
    answer = json.loads(output)
    assert (answer["programs"], answer["compiled"], answer["failures"]) == (3, 3, []), "for 16, 64 and 256 rows"
    assert "3 programs: 0 compiled, 3 were there" in dpjax("warm", config, *OWN, **own)[1]
    status, output, said = dpjax("curve", config, "--out", store, "--json", "--formats", *OWN, **own)
    assert status == 0, said
    computed = json.loads(output)["computed"]
    assert (computed["programs"], computed["compiled"]) == (3, 0) and computed["trials"] >= 400


def test_what_cannot_be_compiled_is_told(tmp_path, config):
    (tmp_path / "small.py").write_text(RAISES)
    config.write_text(config.read_text().replace("tests.experiments.fast:Coin", "small:Small"))
    status, output, _ = dpjax("warm", config, *OWN, "small", PYTHONPATH=str(tmp_path))
    assert status == 4
    assert "1 programs: 1 compiled" in output or "1 programs: 0 compiled" in output
    failed = [line for line in output.splitlines() if line.startswith("failed: ")]
    assert len(failed) == 2 and all("ArithmeticError: too large" in line for line in failed)
    assert "n = 20:" in failed[0] and "n = 70:" in failed[1]


def test_it_needs_a_folder(config, capsys, monkeypatch):
    monkeypatch.chdir(REPOSITORY)
    before = jax.config.jax_compilation_cache_dir
    try:
        assert cli.main(["warm", str(config), "--compile-cache", "off", *OWN]) == 2
    finally:
        jax.config.update("jax_compilation_cache_dir", before)
    assert "compile_cache: expected a folder" in capsys.readouterr().err


def test_a_search_has_the_programs_between_the_bounds():
    """The learner's theorem says 64, no lower bound applies, and curves have sizes around n*."""
    found = settings_of(fast.study(1, search=True))
    assert {capacity(setting.n) for _, setting in found} == {16, 64, 256}
    assert len(found) == 3
