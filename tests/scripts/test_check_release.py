"""Metadata of the release, and that the checks of scripts/check_release.py fail where something is missing."""

import shutil
import tarfile
import tomllib
import zipfile

import pytest
import yaml
from packaging.version import Version

from dpjax.experiments.store.canonical import series_of

MODULES = ["dpjax/__init__.py", "dpjax/core/keys.py"]
DATA = ["dpjax/py.typed", "dpjax/papers/theorems/bgs.toml"]
METADATA = """\
Metadata-Version: 2.4
Name: dpjax
Version: 0.2.0
License-Expression: Apache-2.0
Requires-Python: >=3.11
Author: The dpjax developers
"""


@pytest.fixture
def release(scripts):
    return scripts("check_release")


@pytest.fixture
def project(root):
    return tomllib.loads((root / "pyproject.toml").read_text())


@pytest.fixture
def tree(tmp_path, root):
    """A small source tree."""
    for name in [*MODULES, *DATA, "LICENSE", "README.md", "CITATION.cff", "pyproject.toml", "tests/conftest.py"]:
        (tmp_path / "tree" / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(root / name, tmp_path / "tree" / name)
    (tmp_path / "tree/CHANGELOG.md").write_text("# Changelog\n\n## 0.2.0 (2026-12-01)\n\n## 0.1.0\n")
    return tmp_path / "tree"


def wheel_of(tree, names, extra=(), metadata=METADATA, size=0):
    path = tree / "dpjax-0.2.0-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        for name in [*names, *extra]:
            archive.writestr(name, "")
        archive.writestr("dpjax-0.2.0.dist-info/METADATA", metadata)
        archive.writestr("dpjax-0.2.0.dist-info/licenses/LICENSE", b"0" * size)
    return path


def sdist_of(tree, leave_out=None):
    path = tree.parent / "dpjax-0.2.0.tar.gz"
    with tarfile.open(path, "w:gz") as archive:
        archive.add(tree, "dpjax-0.2.0", filter=lambda info: None if str(leave_out) in info.name else info)
    return path


def test_a_whole_wheel_passes(release, tree):
    assert "4 files, 2 of them data" in release.check_wheel(wheel_of(tree, MODULES + DATA), tree)


@pytest.mark.parametrize(
    ("names", "extra", "size", "says"),
    [
        ([*MODULES, "dpjax/papers/theorems/bgs.toml"], [], 0, "lacks dpjax/py.typed"),
        ([*MODULES, "dpjax/py.typed"], [], 0, r"lacks .*bgs\.toml"),
        ([*DATA, "dpjax/__init__.py"], [], 0, r"lacks .*keys\.py"),
        (MODULES + DATA, ["tests/conftest.py"], 0, "tests/conftest.py.*does not have"),
        (MODULES + DATA, [], 5 * 2**20, "bytes, more than"),
    ],
)
def test_a_wheel_with_too_little_or_too_much_is_refused(release, tree, names, extra, size, says):
    with pytest.raises(release.Wrong, match=says):
        release.check_wheel(wheel_of(tree, names, extra, size=size), tree)


def test_an_sdist_has_tests_and_what_readers_look_for(release, tree):
    assert "MiB" in release.check_sdist(sdist_of(tree), tree)
    for name in ("CITATION.cff", "tests/conftest.py", "dpjax/py.typed"):
        with pytest.raises(release.Wrong, match=f"lacks .*{name}"):
            release.check_sdist(sdist_of(tree, name), tree)


@pytest.mark.parametrize(("old", "new"), [("Apache-2.0", "MIT"), (">=3.11", ">=3.9"), ("developers", "users")])
def test_metadata_are_those_of_the_project(release, tree, old, new):
    sdist = sdist_of(tree)
    assert release.check_metadata(wheel_of(tree, MODULES), sdist, tree) == "0.2.0"
    with pytest.raises(release.Wrong, match=f"{new}.*expected"):
        release.check_metadata(wheel_of(tree, MODULES, metadata=METADATA.replace(old, new)), sdist, tree)


def test_the_tag_is_that_of_changelog_and_citation(release, tree):
    assert release.check_tag("v0.2.0", "0.2.0", tree) == "v0.2.0"
    with pytest.raises(release.Wrong, match=r"tag v0\.2\.1 builds version 0\.2\.0"):
        release.check_tag("v0.2.1", "0.2.0", tree)
    with pytest.raises(release.Wrong, match=r"CHANGELOG\.md begins with 0\.2\.0"):
        release.check_tag("v0.3.0", "0.3.0", tree)
    (tree / "CHANGELOG.md").write_text("# Changelog\n\n## 0.2.0 (unreleased)\n")
    with pytest.raises(release.Wrong, match="no date"):
        release.check_tag("v0.2.0", "0.2.0", tree)
    (tree / "CHANGELOG.md").write_text("# Changelog\n\n## 0.3.0 (2027-01-01)\n")
    with pytest.raises(release.Wrong, match=r"CITATION\.cff"):
        release.check_tag("v0.3.0", "0.3.0", tree)


def test_notes_are_the_newest_section(release):
    changelog = "# Changelog\n\n## 0.2.0 (2026-12-01)\n\n### Added\n- One.\n\n## 0.1.0\n- Two.\n"
    assert release.notes_of(changelog) == "### Added\n- One.\n"


def test_a_folder_needs_one_of_each(release, tree, tmp_path):
    with pytest.raises(release.Wrong, match="0 wheels and 0 sdists"):
        release.pair(tmp_path)


def test_built_needs_a_folder(release):
    with pytest.raises(SystemExit, match="2"):
        release.main(["--built"])


def test_changelog_citation_and_fallback_are_of_one_version(release, root, project):
    newest = release.newest_section((root / "CHANGELOG.md").read_text())
    assert yaml.safe_load((root / "CITATION.cff").read_text())["version"] == newest
    fallback = Version(project["tool"]["setuptools_scm"]["fallback_version"])
    assert series_of(fallback.base_version) == series_of(newest) and fallback.base_version >= newest
    assert "version" in project["project"]["dynamic"]


def test_citation_names_what_the_project_names(root, project):
    cited = yaml.safe_load((root / "CITATION.cff").read_text())
    assert {"cff-version", "message", "title", "authors"} <= cited.keys() and cited["cff-version"] == "1.2.0"
    about = project["project"]
    assert [author["name"] for author in cited["authors"]] == [author["name"] for author in about["authors"]]
    assert cited["license"] == about["license"] and cited["keywords"] == about["keywords"]


def test_data_files_are_named_in_the_project(release, root, project):
    """Git tells setuptools about them in a checkout; in files without git, only the project does."""
    patterns = project["tool"]["setuptools"]["package-data"]["dpjax"]
    named = {path.relative_to(root).as_posix() for pattern in patterns for path in (root / "dpjax").glob(pattern)}
    assert release.data_files(root) <= named


@pytest.mark.slow
def test_the_release_installs_and_runs(release, capsys):
    """Builds, checks and installs both files; a few minutes and an index of packages."""
    status = release.main([])
    printed = capsys.readouterr()
    assert status == 0, printed.err
    assert printed.out.count("version, import, study, audit, template") == 2
