"""Docstrings as reStructuredText: sections are fields, arguments lists, and nothing is lost."""

import pytest


@pytest.fixture(scope="module")
def lines(site):
    convert = site("docstrings").as_restructured
    return lambda text, names=(): "\n".join(convert(text, names)).strip("\n")


def test_sections_become_fields(lines):
    text = lines(
        "Selects a concept.\n\nArgs:\n  a, b: numbers\n    that add up.\n  *rest: others.\n\nReturns: one.\n\n"
        "Privacy: (epsilon, 0), for\n  every sample.\n"
        "Utility: `theory.kln.realizable`.\nReference: Yan 2025, Theorem 11."
    )
    assert text == (
        "Selects a concept.\n\n:Args:\n   - **a, b**: numbers that add up.\n   - **\\*rest**: others.\n\n"
        ":Returns: one.\n\n:Privacy: (epsilon, 0), for\n   every sample.\n:Utility: `theory.kln.realizable`.\n"
        ":Reference: Yan 2025, Theorem 11.\n:Theorems: :item:`yan:theorem-11`\n"
        ":Measured: :titled:`gallery/vc1-height.md`; :titled:`gallery/vc1-subsample-size.md`; "
        ":titled:`gallery/generated/vc1-height.md`"
    )


def test_what_follows_a_section_without_indentation_belongs_to_it(lines):
    assert lines("One.\n\nPrivacy: pure,\nfor all.") == "One.\n\n:Privacy: pure,\n   for all."


def test_fields_in_running_text_become_a_list(lines):
    text = lines(
        "Numbers.\n\nlow, high: bounds,\n  both inclusive. step: between them. other: is none.", {"low", "high", "step"}
    )
    assert text.endswith("- **low, high**: bounds, both inclusive.\n- **step**: between them. other: is none.")
    assert lines("note: this is a sentence.") == "note: this is a sentence."


def test_arguments_in_one_line_become_items(lines):
    text = lines("One.\n\nArgs:\n  k, epsilon: numbers; delta: of the budget. other: words.", {"k", "epsilon", "delta"})
    assert text.endswith(":Args:\n   - **k, epsilon**: numbers;\n   - **delta**: of the budget. other: words.")


def test_signs_that_mean_something_to_docutils_are_escaped(lines):
    assert lines("P(|x| > t) is 2 q**t, n* and *args; ``|k|`` and **never**.") == (
        "P(\\|x\\| > t) is 2 q\\*\\*t, n\\* and \\*args; ``|k|`` and **never**."
    )


def test_formulas_stay_as_they_are(lines):
    assert lines("So\n\n    a * b |c|\n      + d\n\nholds.") == (
        "So\n\n.. code-block:: text\n\n    a * b |c|\n      + d\n\nholds."
    )


def test_lists_keep_their_items(lines):
    assert lines("Three:\n- one\n- two\n  lines") == "Three:\n\n- one\n- two\n  lines"


def test_pages_are_linked(lines):
    assert lines("See docs/proofs/lines.md#cuts.") == "See :page:`docs/proofs/lines.md#cuts`."


def test_defaults_in_signatures_can_be_read(site):
    text = "(a=<function unwatched at 0x7f>, b=<factory>, c=<class 'dpjax.core.types.Sample'>, d: int = 1)"
    handled, returns = site("docstrings").signature(None, "class", "X", None, None, text, "int")
    assert handled == "(a=unwatched, b=..., c=Sample, d: int = 1)" and returns == "int"
    assert site("docstrings").signature(None, "class", "X", None, None, None, None) == (None, None)


def test_no_word_of_a_docstring_is_lost(site):
    import re

    names, convert = site("names"), site("docstrings")
    for one in names.names().values():
        if one.kind in ("class", "function"):
            doc = names.value(one).__doc__ or ""
            text = "\n".join(convert.as_restructured(doc, convert.parameters(names.value(one))))
            before, after = (re.findall(r"[A-Za-z0-9]+", words) for words in (doc, text))
            extra = {"code", "block", "text", "page"}
            assert [word for word in after if word not in extra] == [word for word in before if word not in extra], (
                one.path
            )
