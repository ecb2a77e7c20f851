"""Which code implements an item: the `Reference:` lines of the package's docstrings, read without importing it."""

import ast
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import dpjax
from dpjax.papers.theorems.table import Item, papers

ROOT = Path(dpjax.__file__).parent
_KINDS = (
    "Definition|Theorem|Lemma|Claim|Corollary|Corollarie|Proposition|Observation|Algorithm|Remark|Example|Fact|"
    "Assumption|Section|Appendix|Figure"
)
_NUMBER = r"(?:(?:[A-Z]\.)?\d+(?:\.\d+)*|[A-Z]\b)"
_LINK = r"(?:, and |, | and | to )"
_LIST = re.compile(rf"\b({_KINDS})s? ({_NUMBER}(?:{_LINK}{_NUMBER})*)")
_OTHERS = re.compile(r"\((?:[^()]*\b(?:19|20)\d\d[^()]*)\)")  # another work in parentheses
_END = re.compile(r";|\.(?=\s|$)")
_NEXT = re.compile(r"\n\s*\n|\n\s*(?:Args|Returns|Privacy|Utility|Raises|Soundness|Completeness|Proof)\b[^\n]*:")


@dataclass(frozen=True)
class Place:
    """Where an item is cited. name: the public dotted name; file and line: of the definition."""

    name: str
    file: str
    line: int


@dataclass(frozen=True)
class Citation:
    """A numbered item or section that a docstring cites."""

    paper: str
    kind: str
    number: str
    place: Place


def cited(text: str) -> list[tuple[str, str, str]]:
    """(paper, kind, number) of everything that a `Reference:` text cites of the papers; ranges are spelled out."""
    text = _OTHERS.sub("", " ".join(text.split()))
    starts = sorted(
        (m.start(), m.end(), paper.key) for paper in papers().values() for m in re.finditer(paper.cite, text)
    )
    ends = [*(start for start, _, _ in starts), len(text)][1:]
    citations = []
    for (_, begin, paper), after in zip(starts, ends, strict=True):
        end = _END.search(text, begin, after)
        part = text[begin : end.start() if end else after]
        citations += [(paper, kind, number) for kind, number in _numbered(part)]
        citations += [
            (paper, item.kind, item.name)
            for item in papers()[paper].items.values()
            if not item.number and re.search(rf"\b{item.name}\b", part)
        ]
    return citations


def _numbered(text: str) -> Iterator[tuple[str, str]]:
    for match in _LIST.finditer(text):
        kind = match[1].replace("Corollarie", "Corollary")
        before = ""
        for link, number in re.findall(rf"({_LINK})?({_NUMBER})", match[2]):
            if link == " to ":
                head, first = re.fullmatch(r"(.*?)(\d+)", before).groups()  # type: ignore[union-attr]
                last = int(re.fullmatch(r".*?(\d+)", number)[1])  # type: ignore[index]
                yield from ((kind, f"{head}{i}") for i in range(int(first) + 1, last))
            yield kind, number
            before = number


@cache
def places() -> tuple[Citation, ...]:
    """Everything that the package's docstrings cite of the papers, in the order of files and lines."""
    citations = []
    for path in sorted(ROOT.rglob("*.py")):
        text = path.read_text("utf-8")
        if "Reference:" in text and any(re.search(paper.cite, " ".join(text.split())) for paper in papers().values()):
            citations += list(_of_file(path, ast.parse(text)))
    return tuple(citations)


@cache
def code() -> Mapping[str, tuple[Place, ...]]:
    """The places that cite each item, by key; sections are left out."""
    by_key: dict[str, list[Place]] = {}
    for citation in places():
        item = papers()[citation.paper].find(citation.kind, citation.number)
        if item is not None and citation.place not in by_key.setdefault(item.key, []):
            by_key[item.key].append(citation.place)
    return {key: tuple(where) for key, where in by_key.items()}


def code_of(item: Item) -> tuple[Place, ...]:
    """The places that cite an item."""
    return code().get(item.key, ())


def _of_file(path: Path, tree: ast.Module) -> Iterator[Citation]:
    for place, text in texts(path, tree):
        yield from (Citation(*reference, place) for reference in dict.fromkeys(cited(text)))


def texts(path: Path, tree: ast.Module) -> Iterator[tuple[Place, str]]:
    """The texts behind "Reference:" of a file, with the places of their definitions."""
    parts = path.relative_to(ROOT.parent).with_suffix("").parts
    module = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
    file = path.relative_to(ROOT.parent).as_posix()
    for names, node in _definitions(tree, ()):
        for text in _reference(ast.get_docstring(node) or ""):
            yield Place(_public(module, names), file, getattr(node, "lineno", 1)), text


def _definitions(
    node: ast.Module | ast.ClassDef | ast.FunctionDef, names: tuple[str, ...]
) -> Iterator[tuple[tuple[str, ...], ast.Module | ast.ClassDef | ast.FunctionDef]]:
    yield names, node
    if not isinstance(node, ast.FunctionDef):
        for child in node.body:
            if isinstance(child, ast.ClassDef | ast.FunctionDef):
                yield from _definitions(child, (*names, child.name))


def _reference(text: str) -> Iterator[str]:
    """The texts behind "Reference:", each up to the end of its paragraph or the next section."""
    for match in re.finditer(r"\bReference:", text):
        end = _NEXT.search(text, match.end())
        yield text[match.end() : end.start() if end else len(text)]


def _public(module: str, names: tuple[str, ...]) -> str:
    """The name by which the outermost package exports a definition, else its module's."""
    if not names:
        return module
    packages = module.split(".")
    for depth in range(2, len(packages) + 1):
        package = ".".join(packages[:depth])
        for name, target in _exports(package).items():
            if _definer(*target) == (module, names[0]):
                return ".".join((package, name, *names[1:]))
    return ".".join((module, *names))


def _definer(module: str, name: str) -> tuple[str, str]:
    """Where a name that a package exports is defined."""
    target = _exports(module).get(name)
    return (module, name) if target is None else _definer(*target)


@cache
def _exports(package: str) -> Mapping[str, tuple[str, str]]:
    """The names that a package takes from its modules: (module, name) of each; none of a module."""
    file = ROOT.parent.joinpath(*package.split("."), "__init__.py")
    exports: dict[str, tuple[str, str]] = {}
    for node in ast.walk(ast.parse(file.read_text("utf-8"))) if file.exists() else ():
        if isinstance(node, ast.ImportFrom) and node.module and (node.level == 1 or node.module.startswith("dpjax.")):
            base = f"{package}.{node.module}" if node.level else node.module
            exports |= {alias.asname or alias.name: (base, alias.name) for alias in node.names}
    return exports
