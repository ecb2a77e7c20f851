"""`dpjax new`: what it writes, and the names that it refuses."""

import json

import pytest

from dpjax import cli


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    return tmp_path


@pytest.mark.parametrize("kind", ["learner", "class", "mechanism"])
def test_it_writes_a_module_and_its_test(kind, folder, capsys):
    assert cli.main(["new", kind, "mine", "--out", "deep/er", "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert sorted(path.name for path in (folder / "deep" / "er").iterdir()) == ["mine.py", "test_mine.py"]
    assert answer["next"][0] == "cd deep/er" and answer["next"][-1].startswith("python -m pytest test_mine.py ")
    assert any(step.startswith("dpjax check ") for step in answer["next"])
    for path in answer["files"]:
        compile((folder / path).read_text(), path, "exec")


def test_nothing_is_overwritten(folder, capsys):
    (folder / "test_mine.py").write_text("kept")
    assert cli.main(["new", "learner", "mine"]) == 2
    assert "test_mine.py exists" in capsys.readouterr().err
    assert not (folder / "mine.py").exists() and (folder / "test_mine.py").read_text() == "kept"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["learner", "json"], "json, a module of Python"),
        (["learner", "jax"], "jax, a module of"),
        (["learner", "dpjax"], "dpjax, a module of"),
        (["learner", "a-b"], "a name that Python can import"),
        (["learner", "a.b"], "a name that Python can import"),
        (["learner", "../a"], "a name that Python can import"),
        (["learner", "class"], "a name that Python can import"),
        (["learner", "1a"], "a name that Python can import"),
        (["learner", "ä"], "a name that Python can import"),
        (["learner", "__main__"], "name: expected a name"),
        (["learnt", "mine"], "did you mean learner"),
        (["learner", "mine", "--out", "file/below"], "a folder that can be written to"),
    ],
)
def test_bad_names_are_refused(words, said, folder, capsys):
    (folder / "file").write_text("")
    assert cli.main(["new", *words]) == 2
    assert said in capsys.readouterr().err
    assert [path.name for path in folder.iterdir()] == ["file"]
