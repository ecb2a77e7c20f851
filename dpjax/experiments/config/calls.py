"""Parses the text of a call, such as "Name(1, key=2)", to the table that a configuration has in its place."""

import ast
import re
from typing import Any

from dpjax.core.checks import InputError
from dpjax.experiments.config.numbers import arithmetic


def call(name: str, text: str) -> dict[str, Any]:
    """{"use": ..., "arguments": [...], ...} from "Name(1, key=2)" or "module:Name(...)"; no code is run.

    Arguments may be names and calls of the same kinds.
    """
    head, parenthesis, rest = text.strip().partition("(")
    if not parenthesis:
        return {"use": head}
    try:
        node = ast.parse(f"_({_IN_MODULE.sub(_as_attribute, rest)}", mode="eval").body
    except SyntaxError as error:
        advice = f"correct the brackets, or write words with other signs in quotes ({error.msg})"
        raise InputError(name, "Name(arguments)", repr(text), advice) from None
    if not isinstance(node, ast.Call) or any(keyword.arg is None for keyword in node.keywords):
        raise InputError(name, "Name(arguments)", repr(text), "write one call")
    return {
        "use": head.strip(),
        "arguments": [_written(name, argument, text) for argument in node.args],
        **{str(keyword.arg): _written(name, keyword.value, text) for keyword in node.keywords},
    }


def _written(name: str, node: ast.expr, text: str) -> Any:
    """An argument as data: a number, a string, a name, a list, or a call."""
    if isinstance(node, ast.Constant):
        return node.value
    if isinstance(node, ast.List | ast.Tuple):
        return [_written(name, child, text) for child in node.elts]
    if isinstance(node, ast.Name | ast.Attribute):
        return _unparsed(node)
    if isinstance(node, ast.Call):
        inner = {"use": _unparsed(node.func), "arguments": [_written(name, child, text) for child in node.args]}
        return inner | {str(child.arg): _written(name, child.value, text) for child in node.keywords}
    if isinstance(node, ast.BinOp | ast.UnaryOp):
        return arithmetic(name, ast.unparse(node))
    raise InputError(name, "numbers, names, lists and calls", _unparsed(node), "write the value itself")


_COLON = ".\u02d0."  # stands for the colon of module:name, which Python's grammar does not have: a letter like a colon
_IN_MODULE = re.compile(r"""("[^"]*"|'[^']*')|(?<=\w):(?=[^\W\d])""")


def _as_attribute(found: re.Match) -> str:
    """A quoted text as it is, a colon between names as an attribute."""
    return found[1] or _COLON


def _unparsed(node: ast.expr) -> str:
    return ast.unparse(node).replace(_COLON, ":")
