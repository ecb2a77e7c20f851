"""The list of planted mistakes: each has its place and its tests, in every room; and the script sees what is caught."""

import pytest

FEWEST = 60


@pytest.fixture(scope="module")
def script(scripts):
    return scripts("mutations")


def test_every_mistake_has_one_place_and_tests(script, root):
    listed = script.mutations()
    assert len({(one.file, one.old, one.new) for one in listed}) == len(listed) >= FEWEST
    for one in listed:
        assert (root / "dpjax" / one.file).read_text().count(one.old) == 1, f"{one.file}: {one.old}"
        assert one.old != one.new and one.tests
        assert all((root / "tests" / name).exists() for name in one.tests.split()), one.tests


def test_every_room_of_science_has_some(script):
    rooms = {one.file.split("/")[0] for one in script.mutations()}
    assert rooms >= {
        "accounting",
        "attacks",
        "audit",
        "baselines",
        "cli",
        "concepts",
        "core",
        "dimensions",
        "experiments",
        "laws",
        "learners",
        "lists",
        "mechanisms",
        "plots",
        "sanitizers",
        "tables",
        "testing",
        "theory",
    }


def test_it_says_which_test_caught_a_mistake_and_which_mistake_survived(script, tmp_path, monkeypatch, capsys):
    for name, text in {
        "dpjax/sums.py": "def double(x):\n    return 2 * x\n\n\ndef triple(x):\n    return 3 * x\n",
        "tests/test_sums.py": "from dpjax.sums import double\n\n\ndef test_double():\n    assert double(2) == 4\n",
        "pyproject.toml": '[tool.pytest.ini_options]\naddopts = "--import-mode=importlib"\n',
    }.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    (tmp_path / "dpjax/__init__.py").touch()
    planted = [
        script.Mutation("sums.py", old, new, "test_sums.py")
        for old, new in (("2 * x", "3 * x"), ("return 3 * x", "return 4 * x"), ("5 * x", "6 * x"))
    ]
    monkeypatch.setattr(script, "COPIED", ("dpjax", "tests", "pyproject.toml"))
    monkeypatch.setattr(script, "mutations", lambda: planted)
    assert script.main(root=tmp_path) == 1
    caught, survived, absent, total = capsys.readouterr().out.splitlines()
    assert "caught by tests/test_sums.py::test_double" in caught and ": survived" in survived and ": absent" in absent
    assert total == "3 planted, 1 survived" and "3 * x" in (tmp_path / "dpjax/sums.py").read_text()
