"""Pages of the API reference: one for each exported name, one for each module, one for each package."""

import inspect
from collections import defaultdict
from functools import cache

from docstrings import as_restructured
from names import Name, comment, members, modules, names, value

_KINDS = {"class": "Classes", "function": "Functions", "data": "Constants", "module": "Modules"}


def pages() -> dict[str, str]:
    """Path relative to docs -> reStructuredText."""
    listed: dict[str, list[Name]] = defaultdict(list)
    for one in names().values():
        if one.kind != "module":
            listed[one.package].append(one)
    found = {page_of(one): _page(one) for one in names().values() if one.exported and one.kind != "module"}
    kept = sorted(_with_pages())
    for path in kept:
        found[f"reference/api/modules/{path}.rst"] = _module(path, listed[path], kept)
    found["reference/api/index.rst"] = _index()
    return found


def page_of(one: Name) -> str:
    """The page of a name, relative to docs."""
    return f"reference/api/{one.path}.rst" if one.exported else f"reference/api/modules/{one.package}.rst"


def _page(one: Name) -> str:
    return _title(one.path) + _directive(one) + _back(one)


def _back(one: Name) -> str:
    """Where the name is defined, and where it is listed."""
    module, _, name = one.home.rpartition(".")
    home = f":doc:`{module} <modules/{module}>`" if module in _with_pages() else f"``{module}``"
    listed = f":doc:`{one.package} <modules/{one.package}>`"
    return f"\n.. rst-class:: dpjax-home\n\nDefined in {home} as ``{name}``; exported by {listed}.\n"


@cache
def _with_pages() -> set[str]:
    own = {one.package for one in names().values() if one.kind != "module"}
    return {path for path, module in modules().items() if path in own or hasattr(module, "__path__")}


def _directive(one: Name) -> str:
    if one.kind == "data":
        text = "\n".join(f"   {line}" for line in as_restructured(comment(one)))
        return f".. py:data:: {one.path}\n\n{text}\n"
    if one.kind == "function":
        return f".. autofunction:: {one.path}\n"
    kind = value(one)
    lines = [f".. autoclass:: {one.path}", *["   :show-inheritance:"] * (kind.__bases__ != (object,)), ""]
    found = members(kind).items()  # methods before properties, own before inherited
    for name, directive in sorted(found, key=lambda member: (member[1] != "automethod", member[0] not in vars(kind))):
        lines += [f"   .. {directive}:: {name}", ""]
    return "\n".join(lines)


def _module(path: str, listed: list[Name], kept: list[str]) -> str:
    below = [other for other in kept if other.rpartition(".")[0] == path]
    text = _title(path) + f".. automodule:: {path}\n" + "   :no-index:\n" * (path in names()) + "\n"
    own = [one for one in listed if one.exported]
    for kind, heading in _KINDS.items():
        chosen = sorted((one for one in own if one.kind == kind), key=lambda one: one.path)
        if chosen:
            text += f"{heading}\n{'-' * len(heading)}\n\n"
            if kind == "data":  # their own documentation is that of their type
                text += "".join(f"- `{one.path}`: {' '.join(comment(one).split())}\n" for one in chosen) + "\n"
                continue
            text += ".. autosummary::\n   :nosignatures:\n\n"
            text += "".join(f"   {one.path.rpartition('.')[2]}\n" for one in chosen) + "\n"
    if below:
        text += "Modules\n-------\n\n.. list-table::\n   :widths: 40 60\n\n"
        text += "".join(f"   * - :doc:`{other} <{other}>`\n     - {_summary(other)}\n" for other in below)
    rest = [one for one in listed if not one.exported]
    if rest:
        text += "\nContents\n--------\n\n" + "\n".join(map(_directive, rest))
    tree = [f"../{one.path}" for one in own if one.kind != "module"] + below
    if tree:
        text += "\n.. toctree::\n   :hidden:\n\n" + "".join(f"   {entry}\n" for entry in sorted(tree))
    return text


def _summary(path: str) -> str:
    return (inspect.getdoc(modules()[path]) or "").partition("\n\n")[0].replace("\n", " ").replace("|", r"\|")


def _index() -> str:
    packages = [path for path, module in modules().items() if hasattr(module, "__path__") and path.count(".") == 1]
    text = _title("Python") + (
        "Every public name, with signature, shapes, guarantee and source. A name that a package exports has a page;\n"
        "other names are on the page of their module. What a newcomer types first is in\n"
        ":doc:`dpjax <modules/dpjax>`.\n\n"
    )
    text += ".. list-table::\n   :widths: 25 75\n\n"
    text += "".join(
        f"   * - :doc:`{path} <modules/{path}>`\n     - {_summary(path)}\n" for path in ["dpjax", *packages]
    )
    return text + "\n.. toctree::\n   :hidden:\n\n   modules/dpjax\n"


def _title(text: str) -> str:
    return f"{text}\n{'=' * len(text)}\n\n"
