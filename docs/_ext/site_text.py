"""Help texts and docstrings as Markdown of the site."""

import re
from collections.abc import Iterable, Sequence

_CODE = re.compile(
    r"""(?P<known>``?[^`]+``?)                                # code already
    |(?P<quoted>"[^"]*[(*=:_/][^"]*"|"--?[\w-]+")              # a quoted word of a program
    |(?P<flag>(?<![\w-])--[a-z][\w-]*)                        # a flag
    |(?P<call>(?<![\w.])[\w.:]+\([^()\s]*(?:,\s[^()\s]+)*\))  # module:Name(...)
    |(?P<extra>(?<![\w.])\w+\[\w+\])                           # dpjax[export]
    |(?P<page>\bdocs/[\w/-]+\.md\b)                          # a page of this site
    |(?P<ours>(?<![\w./])dpjax(?:\.\w+)+)                      # dpjax.audit.Target
    |(?P<name>(?<![\w.])[a-z]\w*(?:\.\w+)*_\w+(?:\.\w+)*)     # dask_jobqueue, n_low
    |(?P<power>\b\d+\*\*(?:\w+|\([^)]*\)))                    # 2**32
    |(?P<path>\b(?:[A-Z]+_[A-Z_]+|module:[a-z]+|[\w/-]+\.(?:csv|npy|toml|json|md|png|svg|pdf|py|html|nc|parquet))\b)
    """,
    re.VERBOSE,
)
_SIGNS = re.compile(r"([\\*_\[\]<>|{}$#~])")


def markdown(text: str, up: str | None = None) -> str:
    """Plain text as Markdown: flags, calls, file names and quoted code are code, and no sign is markup.

    Paragraphs that are separated by an empty line stay apart. up: the way from the page to docs/, by which pages of the
    site are linked; None for no links.
    """
    paragraphs = [" ".join(part.split()) for part in re.split(r"\n\s*\n", text.strip())]
    return "\n\n".join(_marked(part, up) for part in paragraphs)


def code(text: str) -> str:
    """A code span of any text."""
    fence = "``" if "`" in text else "`"
    return f"{fence}{text}{fence}"


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A Markdown table of cells that are Markdown, bars escaped."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(_cell(cell) for cell in line) + " |" for line in lines) + "\n"


def _cell(text: str) -> str:
    """One line, with every bar escaped, once."""
    return re.sub(r"(?<!\\)\|", r"\\|", " ".join(text.split()))


def _marked(text: str, up: str | None) -> str:
    parts, end = [], 0
    for found in _CODE.finditer(text):
        shown = code(found[0].strip("`").strip('"'))
        if found["page"] and up is not None:
            shown = f"[{shown}]({up}{found[0].removeprefix('docs/')})"
        parts += [_SIGNS.sub(r"\\\1", text[end : found.start()]), shown]
        end = found.end()
    return "".join([*parts, _SIGNS.sub(r"\\\1", text[end:])])
