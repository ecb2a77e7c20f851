"""The class that a word of a command names."""

from typing import Any

from dpjax.core import checks
from dpjax.experiments.config.builder import CONCEPTS, MATRICES, Builder, public_names
from dpjax.experiments.config.matrix_file import is_matrix_file


def class_of(text: str, imports: tuple[str, ...]) -> Any:
    """A matrix or a concept class, from a file, a function, or a name."""
    head = text.partition("(")[0].strip()
    if ":" not in head and not is_matrix_file(text):
        checks.choice("class", head.partition(".")[0], [*public_names(MATRICES), *public_names(CONCEPTS)])
    kind = MATRICES if head in public_names(MATRICES) or is_matrix_file(text) else CONCEPTS
    return Builder(imports=imports, trusted=True).build("class", text, kind)
