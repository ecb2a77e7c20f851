"""Which printed texts of the site wrap."""

import pytest

TABLE = """t             10     11     12
expected   24374   8967   3299
dpjax      24296   8916   3250"""
FRAMED = """      title
┏━━━━━━━━━┳━━━┓
┃ learner ┃ k ┃"""
REPORT = """stability (printed): VIOLATED
  claimed   epsilon 1, delta 1e-06, replace-one
  database  [33, 0, 47]"""
TREE = """a rule and a count: (0.6, 0)-DP
│  basic composition: epsilons and deltas add
└─ Laplace mechanism: (0.1, 0)-DP"""

LISTING = """dpjax status results  # what is done
dpjax plan study.toml  # what it would do"""


@pytest.fixture
def wrapped(site):
    pytest.importorskip("docutils", reason="the site needs `pip install dpjax[docs]`")
    return site("wrapped")


def test_tables_keep_their_columns_and_sentences_wrap(wrapped):
    assert [wrapped.is_table(text) for text in (TABLE, FRAMED, REPORT, TREE)] == [True, True, False, False]
    assert not wrapped.is_table(LISTING)
    assert [wrapped.is_listing(text) for text in (LISTING, REPORT, TREE)] == [True, False, False]
