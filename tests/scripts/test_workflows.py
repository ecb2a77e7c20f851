"""The workflows: pinned actions, least permissions, and make targets and Pythons that exist."""

import re
import tomllib

import pytest
import yaml

WORKFLOWS = ["ci", "docs", "release"]
MAY_WRITE = {
    ("docs", "deploy"): {"pages", "id-token"},
    ("release", "publish"): {"id-token", "attestations"},
    ("release", "announce"): {"contents"},
}


@pytest.fixture
def workflow(root):
    return lambda name: yaml.safe_load((root / f".github/workflows/{name}.yml").read_text())


def steps(found):
    return [(name, step) for name, job in found["jobs"].items() for step in job.get("steps", [])]


def test_every_workflow_is_named_here(root):
    assert sorted(path.stem for path in (root / ".github/workflows").iterdir()) == WORKFLOWS


def test_actions_are_pinned_by_a_whole_hash_with_one_version_each(root):
    pins = {}
    for name in WORKFLOWS:
        for line in (root / f".github/workflows/{name}.yml").read_text().splitlines():
            if "uses:" not in line or "uses: ./" in line:
                continue
            found = re.search(r"uses: ([\w-]+/[\w-]+)@([0-9a-f]{40}) # (v\d+\.\d+\.\d+)$", line)
            assert found, line
            assert pins.setdefault(found[1], found.groups()) == found.groups()
    assert {"actions/checkout", "pypa/gh-action-pypi-publish", "actions/deploy-pages"} <= pins.keys()


@pytest.mark.parametrize("name", WORKFLOWS)
def test_permissions_are_the_least(workflow, name):
    found = workflow(name)
    assert found["permissions"] == {"contents": "read"} and found["concurrency"]["group"]
    for job, about in found["jobs"].items():
        granted = {scope for scope, level in about.get("permissions", {}).items() if level == "write"}
        assert granted == MAY_WRITE.get((name, job), set()), job
        assert "uses" in about or about["timeout-minutes"] <= 90


@pytest.mark.parametrize("name", WORKFLOWS)
def test_no_step_keeps_credentials_or_pastes_what_others_wrote(workflow, name):
    for job, step in steps(workflow(name)):
        if step.get("uses", "").startswith("actions/checkout@"):
            assert step["with"]["persist-credentials"] is False, job
        assert "${{" not in step.get("run", ""), job
    assert "secrets." not in str(workflow(name))


def test_who_may_publish_runs_no_code_of_the_repository(workflow):
    for name, job in MAY_WRITE:
        found = [step for where, step in steps(workflow(name)) if where == job]
        assert found and not [step for step in found if "checkout" in step.get("uses", "")]
        words = {word for step in found for word in step.get("run", "").split()}
        assert not words & {"python", "pip", "make", "bash", "sh"}, words


def test_make_targets_exist(root, workflow):
    targets = set(re.findall(r"^([\w-]+):", (root / "Makefile").read_text(), re.MULTILINE))
    called = {step["run"] for name in ("ci", "docs") for _, step in steps(workflow(name)) if "run" in step}
    assert {run.removeprefix("make ") for run in called} <= targets and len(called) > 4


def test_pythons_are_those_of_the_project(root, workflow):
    project = tomllib.loads((root / "pyproject.toml").read_text())["project"]
    named = re.findall(r"Python :: (3\.\d+)", " ".join(project["classifiers"]))
    assert workflow("ci")["jobs"]["test"]["strategy"]["matrix"]["python"] == named
    assert project["requires-python"] == f">={named[0]}"
