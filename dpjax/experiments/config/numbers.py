"""Parsing of numbers such as 2**32 and 1e6."""

import ast
import operator
from typing import Any

from dpjax.core.checks import InputError

_OPERATIONS = {ast.Pow: operator.pow, ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul}
_EXPONENT = "powers with an exponent in 0..2048 of numbers up to 2**16"
_WORDS = "a whole number such as 4294967296, 2**32 or 1e6"


def whole_number(value: Any) -> Any:
    """A whole number from a string of whole numbers with ** * + -, such as "2**32", or from a float such as 1e6.

    Other values are returned unchanged. ValueError for any other string, and for a plain number in quotes.
    """
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if not isinstance(value, str):
        return value
    if value.strip().isdigit():
        raise ValueError(f"a whole number: write {value.strip()} without quotes")
    return from_words(value)


def from_words(value: str) -> int:
    """The same for a flag, which is always a string. ValueError for any other string."""
    try:
        number = _evaluate(ast.parse(value.strip(), mode="eval").body)
    except (SyntaxError, RecursionError, MemoryError, OverflowError) as error:
        raise ValueError(_WORDS) from error
    if isinstance(number, float) and not number.is_integer():
        raise ValueError(_WORDS)
    return int(number)


def arithmetic(name: str, text: str) -> Any:
    """A number from a string of numbers with ** * + -. InputError with this name."""
    try:
        return _evaluate(ast.parse(text.strip(), mode="eval").body)
    except (SyntaxError, ValueError, RecursionError, MemoryError, OverflowError) as error:
        expected = str(error) if str(error) == _EXPONENT else "a number"
        raise InputError(name, expected, repr(text), "write it as 0.5, 2**32 or 1e6") from error


def _evaluate(node: ast.AST) -> int | float:
    if isinstance(node, ast.Constant) and isinstance(node.value, int | float) and not isinstance(node.value, bool):
        return node.value
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return -_evaluate(node.operand)
    if isinstance(node, ast.BinOp) and type(node.op) in _OPERATIONS:
        left, right = _evaluate(node.left), _evaluate(node.right)
        if isinstance(node.op, ast.Pow) and not (isinstance(right, int) and 0 <= right <= 2048 and abs(left) <= 2**16):
            raise ValueError(_EXPONENT)
        return _OPERATIONS[type(node.op)](left, right)
    raise ValueError(_WORDS)
