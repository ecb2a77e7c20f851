"""Limits of memory that containers and schedulers set."""

import pytest

from dpjax.experiments.run.memory_limit import memory_left

VERSIONS = {
    2: ("0::{}", "", ("memory.max", "memory.current", "inactive_file")),
    1: ("4:cpu,memory:{}", "memory", ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file")),
}


@pytest.fixture(params=VERSIONS)
def machine(request, tmp_path):
    """Groups with (limit, used, cached), and the list of a process's groups."""
    line, kind, names = VERSIONS[request.param]

    def make(path, groups):
        for inner, (limit, used, cached) in groups.items():
            folder = tmp_path / "mounted" / kind / inner
            folder.mkdir(parents=True, exist_ok=True)
            for name, value in zip(names, (limit, used), strict=False):
                (folder / name).write_text(f"{value}\n")
            (folder / "memory.stat").write_text(f"anon 5\n{names[2]} {cached}\n")
        (tmp_path / "own").write_text(f"7:pids:/\n{line.format(path)}\n")
        return tmp_path / "own", tmp_path / "mounted"

    return make


def test_the_narrowest_group_around_a_process_counts(machine):
    job = {"slurm": ("max", 0, 0), "slurm/job_1": (1000, 700, 0), "slurm/job_1/step_0": (5000, 100, 0)}
    assert memory_left(*machine("/slurm/job_1/step_0", job)) == 300


def test_a_cache_of_files_is_free_memory(machine):
    assert memory_left(*machine("/", {".": (1000, 900, 600)})) == 700


def test_a_container_that_sees_its_own_group_as_the_root(machine):
    assert memory_left(*machine("/docker/0a1b", {".": (1000, 400, 0)})) == 600


def test_files_that_are_odd(machine, tmp_path):
    own, mounted = machine("/a", {"a": (1000, 400, 0), ".": (2**63 - 4096, 5, 0)})
    (stat,) = mounted.glob("**/a/memory.stat")
    for text in ("odd\n\na b c\n", "total_inactive_file\ninactive_file x\n"):
        stat.write_text(text)
        assert memory_left(own, mounted) == 600
    stat.unlink()
    own.write_text("odd\n" + own.read_text())
    assert memory_left(own, mounted) == 600
    assert memory_left(*machine("/", {".": (2**63 - 4096, 5, 0)})) is None


def test_no_limit_no_groups_and_more_than_the_limit(machine, tmp_path):
    assert memory_left(*machine("/a", {"a": ("max", 3, 0), ".": ("max", 5, 0)})) is None
    assert memory_left(tmp_path / "none", tmp_path / "none") is None
    assert memory_left(*machine("/b", {"b": (10, 30, 0)})) == 0
