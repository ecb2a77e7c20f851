"""Results are found by the minor series of dpjax, whatever the commit or the day of a development version."""

from importlib import metadata

import pytest

import dpjax
from dpjax import cli
from dpjax.experiments.results.result import Result
from dpjax.experiments.store import canonical
from dpjax.experiments.store.canonical import series_of
from dpjax.experiments.store.store import Store, cell_hash, versions

CLEAN, DIRTY, PATCH = "0.2.0", "0.2.1.dev3+g1a2b3c4.d20261126", "0.2.7"


@pytest.fixture
def installed(monkeypatch):
    """Sets the version of the installed dpjax."""
    real = canonical._version

    def install(version):
        monkeypatch.setattr(canonical, "_version", lambda name: version if name == "dpjax" else real(name))

    return install


@pytest.mark.parametrize(
    ("version", "series"),
    [
        (CLEAN, "0.2"),
        (DIRTY, "0.2"),
        (PATCH, "0.2"),
        ("0.2.0rc1", "0.2"),
        ("0.2.0.dev0", "0.2"),
        ("0.2rc1", "0.2"),
        ("0.10.3", "0.10"),
        ("1.0.0", "1.0"),
        ("not installed", "not installed"),
    ],
)
def test_the_series_of_a_version(version, series):
    assert series_of(version) == series


def test_a_tree_that_is_not_installed_has_a_version(monkeypatch):
    def missing(name):
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "version", missing)
    assert dpjax.__version__ == series_of(dpjax.__version__) == "0+unknown"


def test_development_versions_and_patches_find_one_another_s_cells(installed, tmp_path):
    found = []
    for rows, version in enumerate([DIRTY, CLEAN, PATCH], start=1):
        installed(version)
        config = {"n": 1, "versions": versions()}
        found.append(cell_hash(config))
        Store(tmp_path).write(config, {"outcome": list(range(rows))})  # extends what the others wrote
    assert len({*found}) == 1 and Store(tmp_path).counts() == (1, 3)


def test_a_minor_version_has_cells_of_its_own(installed):
    hashes = []
    for version in (CLEAN, "0.3.0"):
        installed(version)
        hashes.append(cell_hash({"n": 1, "versions": versions()}))
    assert len({*hashes}) == 2


def test_another_patch_of_jax_has_cells_of_its_own(monkeypatch):
    """Of jax and jaxlib the whole version counts, of dpjax the minor series."""
    hashes = []
    for jax in ("0.10.2", "0.10.3"):
        monkeypatch.setattr(canonical, "_version", lambda name, jax=jax: CLEAN if name == "dpjax" else jax)
        assert versions() == {"dpjax": "0.2", "jax": jax, "jaxlib": jax}
        hashes.append(cell_hash({"n": 1, "versions": versions()}))
    assert len({*hashes}) == 2


def test_a_study_of_a_development_version_is_read_by_the_release(installed, tmp_path, capsys):
    words = ["curve", "--concepts", "Points(8)", "--learners", "PointLearner", "--epsilon", "1", "--n", "20"]
    words += ["--trials", "50", "--out", str(tmp_path), "--json"]
    installed(DIRTY)
    assert cli.main(words) == 0
    capsys.readouterr()
    first = {path.name: path.stat().st_mtime_ns for path in tmp_path.rglob("*.parquet")}
    data = Result.load(tmp_path).data
    assert DIRTY in data["made_by"] and first
    installed(CLEAN)
    assert cli.main(words) == 0
    assert {path.name: path.stat().st_mtime_ns for path in tmp_path.rglob("*.parquet")} == first
    again = Result.load(tmp_path).data
    assert again == data | {"made_by": again["made_by"]} and CLEAN in again["made_by"]
    assert not (tmp_path / "result.earlier.json").exists()
