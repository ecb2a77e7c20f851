"""Calibrations on disk: found again, computed again where they cannot be read, and never an error."""

import json

import pytest

from dpjax.accounting.cover import cache, calibration
from dpjax.core.types import Neighboring


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("DPJAX_CACHE", str(tmp_path / "kept"))
    return tmp_path / "kept"


class Counted:
    """A computation that counts its calls."""

    def __init__(self, *values):
        self.values, self.calls = values, 0

    def __call__(self):
        self.calls += 1
        return self.values


def test_an_entry_is_computed_once(folder):
    compute = Counted(0.1, 1e-300)
    for _ in range(3):
        assert cache.kept("name", (1.0, 2, None, Neighboring.REPLACE_ONE), compute) == (0.1, 1e-300)
    assert compute.calls == 1 and [path.suffix for path in folder.iterdir()] == [".json"]
    for other in ((1.0, 2, None, Neighboring.ADD_OR_REMOVE_ONE), (1.0, 3, None, Neighboring.REPLACE_ONE), ()):
        assert cache.kept("name", other, Counted(0.5)) == (0.5,)
    assert cache.kept("other", (1.0, 2, None, Neighboring.REPLACE_ONE), Counted(0.7)) == (0.7,)


def test_other_sources_are_another_entry(folder, monkeypatch):
    cache.kept("name", (1,), Counted(0.1))
    monkeypatch.setattr(cache, "_digest", lambda: "edited")
    assert cache.kept("name", (1,), Counted(0.2)) == (0.2,)


@pytest.mark.parametrize(
    "text", ["", "{", "[]", "3", "null", "{}", '{"arguments": "others", "values": [0.9]}', "\x00\xff"]
)
def test_what_cannot_be_read_is_computed_again(folder, text):
    cache.kept("name", (1,), Counted(0.1))
    (path,) = folder.iterdir()
    path.write_text(text)
    assert cache.kept("name", (1,), Counted(0.2)) == (0.2,)
    assert json.loads(path.read_text())["values"] == [0.2]


@pytest.mark.parametrize("values", [[], None, "0.9", [float("nan")], [float("inf")], ["0.9"], [True], [None], 0.9])
def test_values_that_are_no_numbers_are_computed_again(folder, values):
    cache.kept("name", (1,), Counted(0.1))
    (path,) = folder.iterdir()
    path.write_text(json.dumps(json.loads(path.read_text()) | {"values": values}))
    assert cache.kept("name", (1,), Counted(0.2)) == (0.2,)


def test_no_folder_is_no_error(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    for place in (tmp_path / "file", tmp_path / "file" / "below", "/proc/nowhere"):
        monkeypatch.setenv("DPJAX_CACHE", str(place))
        compute = Counted(0.3)
        assert cache.kept("name", (1,), compute) == cache.kept("name", (1,), compute) == (0.3,)
        assert compute.calls == 2
    monkeypatch.delenv("DPJAX_CACHE")
    for name in ("HOME", "XDG_CACHE_HOME"):
        monkeypatch.setenv(name, str(tmp_path / name))
    assert cache._folder() == tmp_path / "XDG_CACHE_HOME" / "dpjax"
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert cache._folder() == tmp_path / "HOME" / ".cache" / "dpjax"

    def homeless():
        raise RuntimeError

    monkeypatch.setattr(cache.Path, "home", homeless)
    assert cache.kept("name", (1,), Counted(0.4)) == (0.4,)


def test_a_calibration_is_found_by_the_next_process(folder, monkeypatch):
    given = (0.7, 1e-6, 2, 2, Neighboring.REPLACE_ONE, 0.0)
    found = calibration.by_game.__wrapped__(*given)
    monkeypatch.setattr(calibration, "_searched", None)
    assert calibration.by_game.__wrapped__(*given) == found
