"""One trial of a study from Python and from the command line: what is printed, and which trials are none of it."""

import dpjax as dp
from dpjax import cli

POINTS = dp.Points(dp.Domain(16))
TASK = dp.Task(POINTS, dp.uniform(POINTS.domain))


def test_a_trial_that_is_none_of_the_study_says_so():
    study = dp.Study(TASK, [dp.KLN(POINTS)], n=[20, 50], trials=64)
    assert study.beyond(20, 63) == ""
    for n, trial in ((33, 0), (20, 64)):
        assert "which has n in (20, 50) and trials 0 to 63" in study.beyond(n, trial)
    searched = dp.Study(TASK, [dp.KLN(POINTS)], search=dp.Search(n_max=64))
    assert searched.beyond(33, 0) == "" and "n_min = 16 to n_max = 64" in searched.beyond(65, 0)


def test_a_trial_is_printed_alike_from_python_and_the_command_line(tmp_path, capsys):
    study = dp.Study(TASK, [dp.KLN(POINTS)], [12], n=[20, 50], trials=64)
    found = study.trial("KLN", k=12, epsilon=1.0, n=20, trial=3)
    printed = str(found)
    assert found.note == ""
    for words in ("key         [", "row 0       ", "and 10 more rows", "concept 9   target", "and 2 more concepts"):
        assert words in printed
    assert "Array(" not in printed and "success" in printed.splitlines()[-1]
    (tmp_path / "study.toml").write_text(
        '[task]\nconcepts = "Points(16)"\ndistribution = "uniform"\n[learners]\nKLN = "KLN"\n'
        "[sweep]\nk = [12]\nepsilon = [1.0]\nn = [20, 50]\ntrials = 64\n"
    )
    words = ["trial", str(tmp_path / "study.toml"), "--n", "20", "--trial", "3"]
    assert cli.main(words) == 0
    assert printed in capsys.readouterr().out
    assert cli.main(["trial", str(tmp_path / "study.toml"), "--trial", "64"]) == 0
    assert "note: no trial of the study" in capsys.readouterr().out
