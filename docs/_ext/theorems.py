"""Pages of the index of theorems: one for each paper, and one with counts, corrections and what is missing."""

import re
from pathlib import Path

import audits

from dpjax.papers.theorems import FAULTS, RULES, STATUSES, Item, Paper, papers
from dpjax.papers.theorems.references import code_of

_DOCS = Path(__file__).resolve().parents[1]
_UP = "../../"  # from a page to docs


def pages() -> dict[str, str]:
    """Path relative to docs -> Markdown."""
    found = {f"reference/theorems/{paper.key}.md": _paper(paper) for paper in papers().values()}
    return {"reference/theorems/index.md": _index(), **found}


def _index() -> str:
    rows = "\n".join(
        f"| [`{paper.key}`]({paper.key}.md) | {_named(paper)} | {' | '.join(map(str, paper.counts.values()))} |"
        for paper in papers().values()
    )
    return f"""# Theorems

Every numbered definition, algorithm and theorem of the four papers whose learners dpjax runs: what it states, in our
words, the code whose docstring cites it, and the audits, simulations, figures and proofs that are about it.

Titles, venues and identifiers are on the page of [papers](../papers.md).

| paper | | {" | ".join(STATUSES)} |
|---|---|{"---|" * len(STATUSES)}
{rows}

{_rules()}

A definition counts as *have* if the code works by it. Classes are finite here: a theorem about all classes counts if
the code does it for finite ones, with a remark if these have to be small. A slip that changes neither statement nor
proof, such as a citation of a wrong lemma, is a remark. An item without code, or with code of a weaker form, may have a
wrong print, too: it is *missing* or *partly*, and listed under both headings below.

What is wrong with a print is one of these, the *fault* of the item:

{_faults()}

`dpjax theorem bns:3.12` prints an item; the key is the paper and the number, with the kind where kinds are numbered
apart (`bns:algorithm-2`, `yan:theorem-11`).

```{{toctree}}
:hidden:

{chr(10).join(papers())}
```

## Corrected

{_corrected()}

## Partly

{_list("partly")}

## Missing

{_list("missing")}

## Have

{_have()}
"""


def cited(paper: Paper) -> str:
    """Authors, title, venue and identifiers, with links."""
    text = _plain(paper.citation)
    text = text.replace(f"arXiv:{paper.arxiv}", f"[arXiv:{paper.arxiv}](https://arxiv.org/abs/{paper.arxiv})")
    return text.replace(f"doi:{paper.doi}", f"[doi:{paper.doi}](https://doi.org/{paper.doi})") if paper.doi else text


def _rules() -> str:
    return "\n".join(f"- *{status}*: {_plain(meaning)}" for status, meaning in RULES.items())


def _faults() -> str:
    return "\n".join(f"- *{fault}*: {_plain(meaning)}" for fault, meaning in FAULTS.items())


def _corrected() -> str:
    """The items with a wrong print, by fault."""
    parts = [f"### {fault.capitalize()}\n\n{FAULTS[fault]}\n\n{_list('corrected', fault)}" for fault in FAULTS]
    return "\n\n".join(parts)


def _list(status: str, fault: str = "") -> str:
    """A line for each item of a status, with a link to its place; of those with a wrong print, the ones of a fault."""
    lines = []
    for paper in papers().values():
        for item in paper.items.values():
            if item.fault == fault if fault else item.status == status:
                link = f"[{item.key}]({paper.key}.md#{_slug(item.heading)})"
                more = {
                    "corrected": f"Printed: {item.printed}. Right: {item.right}.",
                    "partly": f"Remark: {item.why}.",
                    "missing": f"Why: {item.why}.",
                }[status]
                lines.append(f"- {link}: {_plain(f'{item.says} {more}')}")
    return "\n".join(lines)


def _have() -> str:
    """The other items, by name, folded by paper."""
    parts = []
    for paper in papers().values():
        chosen = [item for item in paper.items.values() if item.status == "have"]
        lines = (f"- [{item.key}]({paper.key}.md#{_slug(item.heading)}): {_plain(item.heading)}" for item in chosen)
        parts.append(f":::{{dropdown}} {_named(paper)}: {len(chosen)}\n{chr(10).join(lines)}\n:::")
    return "\n\n".join(parts)


def _paper(paper: Paper) -> str:
    text = [f"# {_named(paper)}", f"{cited(paper)} {_plain(paper.note)}"]
    text.append(", ".join(f"{count} {status}" for status, count in paper.counts.items()) + ". [All papers](index.md)")
    group = ""
    for item in paper.items.values():
        if (here := _group(paper, item)) != group:
            group = here
            text.append(f"## {group}")
        text.append(_item(item))
    return "\n\n".join(text) + "\n"


def _item(item: Item) -> str:
    lines = [f"### {item.heading}", "", f"**{item.verdict.capitalize()}.** {_plain(item.says)} `{item.key}`", ""]
    named = {
        "Fault": item.fault and f"*{item.fault}*, {FAULTS[item.fault][0].lower()}{_plain(FAULTS[item.fault][1:])}",
        "Printed": _plain(item.printed),
        "Right": _plain(item.right),
        "Why" if item.status == "missing" else "Remark": _plain(item.why),
        "First version": item.first,
        "Code": ", ".join(f"`{place.name}` in `{place.file}`" for place in code_of(item)),
        "Audit": ", ".join(f"[{name}](../audits.md#{audits.anchor(name)})" for name in item.audit),
        "Simulation": ", ".join(f"[{file}](../sources/{Path(file).with_suffix('.md')})" for file in item.simulation),
        "Figure": ", ".join(f"[{Path(file).name}]({_UP}{file})" for file in item.figure),
        "Pages": ", ".join(map(_link, item.page)),
        "Proof": ", ".join(map(_link, item.proof)),
    }
    return "\n".join([*lines, *(f"- {name}: {text}" for name, text in named.items() if text)]).rstrip()


def _group(paper: Paper, item: Item) -> str:
    """Items numbered within sections are listed by section, the others by kind."""
    section, dot, _ = item.number.partition(".")
    if dot:
        return f"Appendix {section}" if section.isalpha() else f"Section {section}"
    return f"{item.kind}s" if item.kind != "Corollary" else "Corollaries"


def _link(file: str) -> str:
    """A link to a page of docs, with its title."""
    path = _DOCS / file.partition("#")[0]
    title = re.match(r"# (.*)", path.read_text(encoding="utf-8"))
    return f"[{title[1].replace('`', '') if title else path.stem}]({_UP}{file})"


def _named(paper: Paper) -> str:
    return f"{paper.authors} {paper.year}"


def _plain(text: str) -> str:
    """Text in which nothing but backticks is markup."""
    parts = text.split("`")
    return "`".join(re.sub(r"([*<\[\]])", r"\\\1", part) if i % 2 == 0 else part for i, part in enumerate(parts))


def _slug(title: str) -> str:
    """The anchor of a heading, as GitHub makes it."""
    return re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-")
