"""What words of a command name: the user's modules, a class, a relation."""

from typing import Any

from dpjax.core import checks
from dpjax.core.types import Neighboring
from dpjax.experiments.config.builder import CONCEPTS, MATRICES, Builder, imported, public_names
from dpjax.experiments.config.matrix_file import is_matrix_file


def builder_of(command: Any, **given: Any) -> Builder:
    """A builder with the modules of --import, which are imported now: an error in one is the first thing said."""
    for module in command.imports:
        imported(module)
    return Builder(command.imports, given)


def class_of(text: str, imports: tuple[str, ...]) -> Any:
    """A matrix or a concept class, from a file, a function, or a name."""
    head = text.partition("(")[0].strip()
    if ":" not in head and not is_matrix_file(text):
        checks.choice("class", head.partition(".")[0], [*public_names(MATRICES), *public_names(CONCEPTS)])
    kind = MATRICES if head in public_names(MATRICES) or is_matrix_file(text) else CONCEPTS
    return Builder(imports=imports, trusted=True).build("class", text, kind)


def relation_of(word: str) -> Neighboring:
    """The relation of --relation."""
    return Neighboring(checks.choice("relation", word, [relation.value for relation in Neighboring]))
