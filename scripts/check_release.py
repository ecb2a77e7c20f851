"""Builds the sdist and the wheel, checks both, and installs each into an empty environment to run dpjax there.

Run: python scripts/check_release.py [--dist FOLDER] [--built] [--tag TAG] [--notes FILE]

Needs Python and a package index; the tools are installed into an environment that is removed again. --dist keeps the
two files in FOLDER; with --built they are there already and are checked as they are. --tag also requires that the
version is that of the tag and of the newest section of CHANGELOG.md, and --notes writes that section to FILE. Prints
one line for each check; exit status 1 and what is wrong at the first that fails.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import tarfile
import tempfile
import tomllib
import venv
import zipfile
from collections.abc import Mapping, Sequence
from email.parser import HeaderParser
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TOOLS = ("build>=1.2,<2", "twine>=6,<8", "check-wheel-contents>=0.6,<0.7", "cffconvert>=2,<3")
MIB = 2**20
LARGEST_WHEEL = 5 * MIB
IN_SDIST = ("LICENSE", "README.md", "CHANGELOG.md", "CITATION.cff", "pyproject.toml", "tests/conftest.py")
STUDY = (
    "curve",
    "--concepts",
    "Points(16)",
    "--learners",
    "PointLearner",
    "--epsilon",
    "1",
    "--n",
    "40",
    "--trials",
    "50",
    "--devices",
    "1",
    "--out",
    "study",
    "--json",
)
AUDIT = ("audit", "laplace_mechanism", "--json")


class Wrong(Exception):
    """A check that failed; its text says what was found."""


def require(holds: bool, what: str) -> None:
    """Raises Wrong with ``what`` unless ``holds``."""
    if not holds:
        raise Wrong(what)


def data_files(root: Path = ROOT) -> set[str]:
    """The files of the package that are not Python code, relative to ``root``: what a wheel loses most easily."""
    found = (path for path in (root / "dpjax").rglob("*") if path.is_file() and "__pycache__" not in path.parts)
    return {path.relative_to(root).as_posix() for path in found if path.suffix != ".py"}


def code_files(root: Path = ROOT) -> set[str]:
    """The modules of the package, relative to ``root``."""
    return {path.relative_to(root).as_posix() for path in (root / "dpjax").rglob("*.py")}


def check_wheel(wheel: Path, root: Path = ROOT) -> str:
    """Its files are those of dpjax/ and nothing else, py.typed among them; its size is below the limit."""
    size = wheel.stat().st_size
    require(size < LARGEST_WHEEL, f"{wheel.name} has {size} bytes, more than {LARGEST_WHEEL}")
    with zipfile.ZipFile(wheel) as archive:
        names = {name for name in archive.namelist() if not name.endswith("/")}
    package = {name for name in names if not name.partition("/")[0].endswith(".dist-info")}
    wanted = code_files(root) | data_files(root)
    require("dpjax/py.typed" in package, f"{wheel.name} lacks dpjax/py.typed")
    require(wanted <= package, f"{wheel.name} lacks {sorted(wanted - package)[:5]}")
    require(package <= wanted, f"{wheel.name} has {sorted(package - wanted)[:5]}, which the source tree does not have")
    return f"{size / MIB:.2f} MiB, {len(package)} files, {len(data_files(root))} of them data"


def check_sdist(sdist: Path, root: Path = ROOT) -> str:
    """It has the package, its tests and what a reader looks for first, in one folder of its own name."""
    with tarfile.open(sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
        folders = {name.partition("/")[0] for name in archive.getnames()}
    require(folders == {sdist.name.removesuffix(".tar.gz")}, f"{sdist.name} unpacks into {sorted(folders)[:5]}")
    wanted = {*IN_SDIST} | code_files(root) | data_files(root)
    require(wanted <= names, f"{sdist.name} lacks {sorted(wanted - names)[:5]}")
    return f"{sdist.stat().st_size / MIB:.2f} MiB"


def metadata_of(wheel: Path) -> Mapping[str, str]:
    """The core metadata of a wheel."""
    with zipfile.ZipFile(wheel) as archive:
        (name,) = [name for name in archive.namelist() if name.endswith(".dist-info/METADATA")]
        return HeaderParser().parsestr(archive.read(name).decode())


def check_metadata(wheel: Path, sdist: Path, root: Path = ROOT) -> str:
    """Name, licence, authors and Python of pyproject.toml; one version in both files. Returns the version."""
    found = metadata_of(wheel)
    project = tomllib.loads((root / "pyproject.toml").read_text())["project"]
    version = found["Version"]
    wanted = {
        "Name": project["name"],
        "License-Expression": project["license"],
        "Requires-Python": project["requires-python"],
        "Author": project["authors"][0]["name"],
    }
    for field, value in wanted.items():
        require(found[field] == value, f"{wheel.name}: {field} is {found[field]!r}, expected {value!r}")
    require(sdist.name == f"{project['name']}-{version}.tar.gz", f"{sdist.name} has not the version {version}")
    return version


def newest_section(changelog: str) -> str:
    """The version of the first section of a changelog: "0.2.0" of "## 0.2.0 (unreleased)"."""
    found = re.search(r"^## (\d+\.\d+\.\d+)", changelog, re.MULTILINE)
    require(found is not None, "CHANGELOG.md has no section of a version")
    return found[1] if found else ""


def notes_of(changelog: str) -> str:
    """The text of the first section of a changelog, without its heading."""
    version = newest_section(changelog)
    text = changelog.partition(f"\n## {version}")[2].partition("\n## ")[0]
    return text.partition("\n")[2].strip() + "\n"


def check_tag(tag: str, version: str, root: Path = ROOT) -> str:
    """The tag, the version that was built, CITATION.cff and the newest section of the changelog agree."""
    changelog = (root / "CHANGELOG.md").read_text()
    require(tag == f"v{version}", f"the tag {tag} builds version {version}, expected {tag.removeprefix('v')}")
    newest = newest_section(changelog)
    require(newest == version, f"CHANGELOG.md begins with {newest}, not {version}")
    heading = re.search(r"^## .*$", changelog, re.MULTILINE)
    require("unreleased" not in heading[0] if heading else False, f"CHANGELOG.md has no date for {version}")
    cited = re.search(r"^version: (.*)$", (root / "CITATION.cff").read_text(), re.MULTILINE)
    require(cited is not None and cited[1].strip("\"'") == version, f"CITATION.cff is not of version {version}")
    return tag


class Environment:
    """An empty environment in ``folder``, with nothing of this process's paths and of the source tree."""

    def __init__(self, folder: Path):
        self.folder = folder
        venv.create(folder, with_pip=True)
        self.bin = folder / ("Scripts" if os.name == "nt" else "bin")

    def install(self, *what: str) -> None:
        """By pip, with dependencies."""
        self.run("python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *what)

    def run(self, program: str, *arguments: str, cwd: Path | None = None) -> str:
        """The output of a program of the environment; Wrong, with the end of what it printed, if it fails."""
        dropped = ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV", "DPJAX_CACHE")
        clean = {name: value for name, value in os.environ.items() if name not in dropped}
        done = subprocess.run(
            [self.bin / program, *arguments], cwd=cwd or self.folder, env=clean, capture_output=True, text=True
        )
        words = " ".join((program, *arguments))
        require(done.returncode == 0, f"{words} ended with {done.returncode}:\n{(done.stdout + done.stderr)[-3000:]}")
        return done.stdout


def built(tools: Environment, folder: Path, root: Path = ROOT) -> None:
    """Builds both files into ``folder``: the sdist from the tree, the wheel from the sdist."""
    tools.run("python", "-m", "build", "--outdir", str(folder), str(root))


def pair(folder: Path) -> tuple[Path, Path]:
    """(wheel, sdist) of a folder that has one of each and nothing else."""
    wheels, sdists = sorted(folder.glob("*.whl")), sorted(folder.glob("*.tar.gz"))
    require(len(wheels) == len(sdists) == 1, f"{folder} has {len(wheels)} wheels and {len(sdists)} sdists, not 1 each")
    return wheels[0], sdists[0]


def check_installed(what: Path, version: str, folder: Path) -> str:
    """Installs one file into an empty environment and runs dpjax there: version, import, study, audit, template."""
    own = Environment(folder / "environment")
    own.install(str(what))
    work = folder / "work"
    work.mkdir()
    require(own.run("dpjax", "--version", cwd=work) == f"dpjax {version}\n", f"dpjax --version is not {version}")
    where = own.run("python", "-c", "import dpjax; print(dpjax.__file__)", cwd=work).strip()
    require(Path(where).is_relative_to(own.folder), f"dpjax was imported from {where}")
    rows = json.loads(own.run("dpjax", *STUDY, cwd=work))["points"]
    require([row["trials"] for row in rows] == [50], f"a study of 50 trials has {[row['trials'] for row in rows]}")
    verdict = json.loads(own.run("dpjax", *AUDIT, cwd=work))["verdict"]
    require(verdict == "consistent with the claim", f"dpjax {' '.join(AUDIT)} says {verdict}")
    own.run("dpjax", "new", "learner", "mine", cwd=work)
    require((work / "mine.py").is_file(), "dpjax new learner mine wrote no mine.py")
    return "version, import, study, audit, template"


def check(folder: Path, scratch: Path, build: bool, tag: str | None) -> None:
    """All checks in order; Wrong at the first that fails."""
    tools = Environment(scratch / "tools")
    tools.install(*TOOLS)
    tools.run("cffconvert", "--validate", "-i", str(ROOT / "CITATION.cff"))
    print("CITATION.cff: valid by its schema")
    if build:
        built(tools, folder)
    wheel, sdist = pair(folder)
    tools.run("twine", "check", "--strict", str(wheel), str(sdist))
    tools.run("check-wheel-contents", str(wheel))
    version = check_metadata(wheel, sdist)
    print(f"metadata: version {version}")
    print(f"{wheel.name}: {check_wheel(wheel)}")
    print(f"{sdist.name}: {check_sdist(sdist)}")
    if tag is not None:
        print(f"tag: {check_tag(tag, version)}")
    for one in (wheel, sdist):
        (scratch / one.suffix).mkdir()
        print(f"{one.name} in an empty environment: {check_installed(one, version, scratch / one.suffix)}")


def main(arguments: Sequence[str] | None = None) -> int:
    """The exit status."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--dist", type=Path, metavar="FOLDER", help="where the two files are kept; made if need be")
    parser.add_argument("--built", action="store_true", help="check the files in --dist as they are")
    parser.add_argument("--tag", help="require the version of this tag, such as v0.2.0")
    parser.add_argument("--notes", type=Path, metavar="FILE", help="write the newest section of CHANGELOG.md here")
    asked = parser.parse_args(arguments)
    if asked.built and asked.dist is None:
        parser.error("--built needs --dist, the folder with the two files")
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch, "dist") if asked.dist is None else asked.dist.resolve()
        folder.mkdir(parents=True, exist_ok=True)
        try:
            check(folder, Path(scratch), not asked.built, asked.tag)
        except Wrong as wrong:
            print(f"check_release: {wrong}", file=sys.stderr)
            return 1
    if asked.notes is not None:
        asked.notes.write_text(notes_of((ROOT / "CHANGELOG.md").read_text()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
