"""`dpjax cluster-script`: the division into shards, the Kubernetes files, and what is refused."""

import json

import pytest

from dpjax import cli
from dpjax.cli.shards import Shards, divide, seconds_of, time_limit
from dpjax.core.checks import InputError
from tests.cli.jobs import written

KUBERNETES = ("--image", "registry.org/me/dpjax:1", "--volume-claim", "data")
ENOUGH = ("--cells", "1000", "--seconds-per-cell", "40")


@pytest.mark.parametrize(("cells", "each", "workers", "limit", "count", "seconds"), [
    (1000, 40, 1, 500, 23, 1760), (1000, 40, 4, 500, 6, 1680), (100_000, 40, 1, 500, 500, 8000),
    (3, 4000, 1, 500, 3, 4000), (5, 1, 4, 500, 1, 2), (8, 1800, 1, 500, 8, 1800), (8, 1800, 8, 500, 1, 1800),
])  # fmt: skip
def test_shards_take_about_half_an_hour(cells, each, workers, limit, count, seconds):
    assert divide(cells, each, None, workers, 30, limit) == Shards(count, seconds, cells)
    assert divide(cells, None, each * cells / 3600, workers, 30, limit).count == count


def test_time_limits():
    assert [time_limit(Shards(1, seconds, 1), 120) for seconds in (1, 1800, 4000, 1e6)] == [
        "00:30:00", "01:15:00", "02:30:00", "1-00:00:00",
    ]  # fmt: skip
    assert [seconds_of(text) for text in ("00:30:00", "1-02:00:01")] == [1800, 93601]
    with pytest.raises(InputError, match="HH:MM:SS"):
        seconds_of("30")


def test_the_slurm_files_say_what_was_asked(tmp_path, capsys):
    words = (
        "slurm",
        str(tmp_path / "store"),
        *ENOUGH,
        "--partition",
        "short,long",
        "--account",
        "me",
        "--at-once",
        "9",
    )
    answer = written(tmp_path, *words, "--memory", "5G", "--time", "02:00:00", "--grace", "300", capsys=capsys)
    assert answer["shards"] == 6 and answer["cells"] == 1000 and answer["notes"] == []
    assert (tmp_path / "jobs" / "logs").is_dir() and len(answer["files"]) == 4
    lines = (tmp_path / "jobs" / "shard.sbatch").read_text().splitlines()
    for line in ("array=0-5%6", "partition=short,long", "account=me", "mem=5G", "time=02:00:00", "signal=B:USR1@300"):
        assert f"#SBATCH --{line}" in lines
    assert not any("gres" in line for line in lines)
    assert not any("@" in line.replace("USR1@300", "").replace("[@]", "") for line in lines)


def test_a_store_with_dots_in_its_path_is_named_by_where_it_is(tmp_path, capsys):
    store = tmp_path / "runs" / "demo" / ".." / "demo"
    written(tmp_path, "kubernetes", str(store), *ENOUGH, *KUBERNETES, capsys=capsys)
    job = (tmp_path / "jobs" / "job.yaml").read_text()
    assert "/store/demo" in job and ".." not in job
    (tmp_path / "elsewhere" / "inner").mkdir(parents=True)
    (tmp_path / "link").symlink_to(tmp_path / "elsewhere" / "inner")
    for folder, named in (("link/../kept", "elsewhere/kept"), ("link/kept", "link/kept")):
        written(tmp_path / named, "slurm", str(tmp_path / folder), *ENOUGH, capsys=capsys)
        text = (tmp_path / named / "jobs" / "environment.sh").read_text()
        assert f"store={tmp_path / named}\n" in text


def test_what_the_files_do_is_printed(tmp_path, capsys):
    assert cli.main(["cluster-script", "slurm", str(tmp_path), "--out", str(tmp_path / "jobs"), *ENOUGH]) == 0
    printed = capsys.readouterr().out
    assert "1000 cells in 6 shards of about 28 minutes each" in printed
    assert f"bash {tmp_path}/jobs/submit.sh" in printed and "scancel" in printed


@pytest.mark.parametrize(
    ("cells", "seconds", "line"),
    [
        ("12", "10", "12 cells in 1 shard of about 2 minutes"),
        ("1", "60", "1 cell in 1 shard of about 1 minute"),
        ("2", "2400", "2 cells in 2 shards of about 40 minutes each"),
    ],
)
def test_the_division_is_in_words(cells, seconds, line, tmp_path, capsys):
    words = ["--cells", cells, "--seconds-per-cell", seconds, "--cpus-per-task", "1"]
    assert cli.main(["cluster-script", "slurm", str(tmp_path), "--out", str(tmp_path / "jobs"), *words]) == 0
    assert line in capsys.readouterr().out.splitlines()


@pytest.mark.parametrize("flags", [(), ("--gpus", "1"), ("--import", "mine", "--namespace", "lab")])
def test_kubernetes_accepts_the_files(flags, tmp_path, capsys):
    yaml = pytest.importorskip("yaml")
    written(tmp_path, "kubernetes", str(tmp_path / "My_Study"), *ENOUGH, *KUBERNETES, *flags, capsys=capsys)
    job, shell = (yaml.safe_load((tmp_path / "jobs" / name).read_text()) for name in ("job.yaml", "shell.yaml"))
    spec, pod = job["spec"], job["spec"]["template"]["spec"]
    (worker,) = pod["containers"]
    gpus = "--gpus" in flags
    shards = 23 if gpus else 6
    assert (spec["completionMode"], spec["completions"], spec["parallelism"]) == ("Indexed", shards, shards)
    assert pod["restartPolicy"] == "Never" and pod["securityContext"]["runAsNonRoot"]
    assert spec["podFailurePolicy"]["rules"][0] == {
        "action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget", "status": "True"}],
    }  # fmt: skip
    assert worker["resources"]["limits"] == worker["resources"]["requests"]
    assert worker["resources"]["limits"].get("nvidia.com/gpu") == ("1" if gpus else None)
    last = worker["args"][0].splitlines()[-1]
    processes = 1 if gpus else 4
    assert last.startswith(
        f'exec dpjax work /store/My_Study --shard "$JOB_COMPLETION_INDEX/{shards}" --processes {processes}'
    )
    assert ("nvidia-smi" in worker["args"][0]) == gpus and ("--import mine" in last) == ("--import" in flags)
    assert (
        job["metadata"]["name"].startswith("dpjax-my-study-") and "@" not in (tmp_path / "jobs/README.md").read_text()
    )
    validate = pytest.importorskip("kubernetes_validate")
    for version in ("1.29", "1.33"):
        for manifest in (job, shell):
            validate.validate(manifest, version, strict=True)
    with pytest.raises(validate.ValidationError):
        validate.validate(job | {"spec": spec | {"completion": 3}}, "1.33", strict=True)


def test_the_number_of_cells_is_that_of_the_store(tmp_path, capsys, monkeypatch):
    from dpjax.cli import status

    words = ["cluster-script", "slurm", str(tmp_path), "--out", str(tmp_path / "jobs"), "--seconds-per-cell", "40"]
    assert cli.main(words) == 2 and "--prepare" in capsys.readouterr().err
    (tmp_path / "study.json").write_text("{}")
    monkeypatch.setattr(status, "run", lambda command: ({"left": 90}, None))
    assert cli.main([*words, "--json"]) == 0 and json.loads(capsys.readouterr().out)["cells"] == 90
    monkeypatch.setattr(status, "run", lambda command: ({"left": 0}, None))
    assert cli.main(words) == 2 and "where none is" in capsys.readouterr().err


@pytest.mark.parametrize(("words", "said"), [
    (("slum", "s", *ENOUGH), "did you mean slurm"),
    (("slurm", "s", "--cells", "9"), "seconds_per_cell: expected --seconds-per-cell or --total-hours, got neither"),
    (("slurm", "s", *ENOUGH, "--total-hours", "3"), "got both"),
    (("slurm", "s", *ENOUGH, "--gpus", "2"), "gpus"),
    (("slurm", "s", *ENOUGH, "--shard-minutes", "5"), "a number in [15, 60]"),
    (("slurm", "s", *ENOUGH, "--grace", "30"), "grace"),
    (("slurm", "s", *ENOUGH, "--time", "90"), "HH:MM:SS"),
    (("slurm", "s", *ENOUGH, "--time", "00:02:00"), "time"),
    (("slurm", "s", *ENOUGH, "--time", "00:05:00", "--retries", "1"), "retries suffice"),
    (("slurm", "s", *ENOUGH, "--memory", "16"), "memory"),
    (("slurm", "s", *ENOUGH, "--partition", "a\n#SBATCH --x"), "partition"),
    (("slurm", "s", *ENOUGH, "--account", "a b"), "account"),
    (("slurm", "s", *ENOUGH, "--activate", "a\nb"), "one line"),
    (("slurm", "s", *ENOUGH, "--import", "$(x)"), "names of modules"),
    (("slurm", "a b", *ENOUGH), "directives of schedulers have no quotes"),
    (("slurm", "a%j", *ENOUGH), "store: expected a path"),
    (("slurm", "s", *ENOUGH, "--image", "me/dpjax"), "image: expected none for slurm"),
    (("kubernetes", "s", *ENOUGH, *KUBERNETES, "--time", "01:00:00"), "time: expected none for kubernetes"),
    (("kubernetes", "s", *ENOUGH, *KUBERNETES[2:]), "give --image"),
    (("kubernetes", "s", *ENOUGH, *KUBERNETES[:2]), "give --volume-claim"),
    (("kubernetes", "s", *ENOUGH, *KUBERNETES, "--namespace", "A"), "namespace"),
])  # fmt: skip
def test_bad_values_are_refused(words, said, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert cli.main(["cluster-script", *words]) == 2
    assert said in capsys.readouterr().err and not list(tmp_path.iterdir())


def test_files_that_jobs_may_use_are_kept(tmp_path, capsys):
    words = ["cluster-script", "slurm", str(tmp_path), "--out", str(tmp_path / "jobs"), *ENOUGH]
    assert cli.main(words) == 0 and cli.main(words) == 2
    assert "jobs may be using it" in capsys.readouterr().err


def test_a_prepared_store_is_a_study(tmp_path, capsys):
    study = ("--concepts", "Points(16)", "--learners", "KLN", "--n", "20", "--trials", "8", "--formats")
    assert cli.main(["curve", *study, "--out", str(tmp_path), "--json"]) == 0
    points = json.loads(capsys.readouterr().out)["points"]
    (tmp_path / "result.json").unlink()
    assert cli.main(["curve", str(tmp_path), "--formats", "--out", str(tmp_path), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["points"] == points
    (tmp_path / "result.json").unlink()
    for text in ("", "[1]", "{"):
        (tmp_path / "study.json").write_text(text)
        assert cli.main(["plan", str(tmp_path)]) == 2 and "a study that was prepared" in capsys.readouterr().err
