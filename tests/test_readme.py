"""The Python samples of README.md run, in order, in one namespace; what they print is what the comments say."""

import re
import sys

import pytest

from dpjax import cli


@pytest.fixture(scope="module")
def blocks(root):
    return re.findall(r"^```python\n(.*?)^```", (root / "README.md").read_text(), re.MULTILINE | re.DOTALL)


def test_the_samples_run(blocks, capsys):
    space = {"__name__": "__main__"}
    assert len(blocks) == 9
    printed = []
    for number, block in enumerate(blocks):
        exec(compile(block, f"README.md, sample {number}", "exec"), space)
        printed.append(capsys.readouterr().out)
    study, one, law, trees, many, covers, audits = *printed[:6], "".join(printed[6:])
    assert len(study.strip(" []\n").split()) == 4
    assert "(1, 0)-DP" in one and "exponential mechanism over 1152921504606846976 concepts" in one
    assert len(law.split()) > 3 and trees.count("(1, 1e-06)-DP") >= 2
    assert many.startswith("32 136\n") and covers.count("set cover") >= 2
    assert audits.count("consistent with the claim") == 2 and "2 outcomes" in audits and "\nTrue\n" in audits
    assert space["hypothesis"].concept.shape == (1, 2)


def test_the_module_of_one_s_own_stands_alone(blocks, capsys):
    space = {"__name__": "my_module"}
    exec(compile(blocks[6], "my_module.py", "exec"), space)
    assert space["mine"].name == "winner" and not capsys.readouterr().out


def test_the_function_from_elsewhere_is_audited(blocks, root, tmp_path, monkeypatch, capsys):
    (command,) = re.findall(r"`dpjax (audit my_sums:noisy_sum [^`]*)`", (root / "README.md").read_text())
    (tmp_path / "my_sums.py").write_text(blocks[8])
    monkeypatch.syspath_prepend(tmp_path)
    words = [*command.split(), "--trials", "20000"]
    assert cli.main(words) == 0 and "consistent" in capsys.readouterr().out
    assert cli.main([*words, "--epsilon", "0.5"]) == 1
    assert cli.main([*words, "--histograms", "4,2"]) == 2
    words = [word for word in words if word not in ("--pairs", "my_sums:pairs")]
    assert cli.main([*words, "--histograms", "4,2"]) == 0
    sys.modules.pop("my_sums")


def test_the_commands_named_there_exist(root):
    from dpjax.cli.arguments import COMMANDS

    named = set(re.findall(r"^dpjax (\w+)", (root / "README.md").read_text(), re.MULTILINE))
    assert named == COMMANDS.keys()


@pytest.mark.parametrize("page", ["README.md", "CONTRIBUTING.md"])
def test_files_named_there_exist(page, root):
    text = (root / page).read_text()
    named = re.findall(r"`((?:docs|notebooks|tests|scripts|configs|dpjax|benchmarks)/[\w./-]*)`", text)
    assert named
    assert not [name for name in named if "mine" not in name and not (root / name).exists()]
