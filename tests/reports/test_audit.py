"""The report of an audit."""

import json

import pytest

from dpjax.core.checks import InputError
from dpjax.reports import audit, audit_page
from tests.inputs import hostile
from tests.reports.conftest import make_audit, make_claim
from tests.reports.reading import Page

VACUOUS = "vacuous: one outcome on every database, nothing was tested"


def read(data):
    page = Page(audit_page(data))
    assert not page.wrong
    return page


def test_refuted_rows_stand_out(drawn_once):
    claims = [
        make_claim(),
        make_claim("stability", "VIOLATED", calibration="printed", epsilon_found=None),
        make_claim("constant", VACUOUS, curve=[]),
    ]
    page = read(make_audit(*claims, left=2, asked={"target": None, "epsilon": 1.0, "trials": 100, "seed": 0}))
    assert "Claims: 3; consistent 1, refuted 1, vacuous 1" in page.text
    assert "Refuted claims: 1 (stability (printed))." in page.text and "not audited yet: 2" in page.text
    marked = [own for own in page.named("tr") if own.get("class") == "marked"]
    assert len(marked) == 1 and page.text.count("VIOLATED") >= 3
    assert [own.get("open") is None and "open" in own for own in page.named("details")] == [False, True, False]
    assert len(page.named("figure")) == 2 and "all vectors of length 3" in page.text and "[0, 2]" in page.text
    assert "dpjax audit --all --epsilon 1.0 --trials 100 --seed 0" in page.text
    assert "refuted with probability at most 0.05" in page.text and "version 0.10.2" in page.text


def test_one_claim():
    page = read(make_claim("mine:<script>", witness={"event": "<b>"}))
    assert "Privacy audit of mine:<script>" in page.text and len(page.named("figure")) == 1


def test_the_curves_closest_to_their_claims_are_drawn(drawn_once):
    claims = [make_claim(f"target {i}", epsilon_found=i / 30) for i in range(26)]
    page = read(make_audit(*claims, make_claim("broken", "VIOLATED")))
    assert len(page.named("figure")) == 24 and "Of 27 curves, the 24 of refuted claims" in page.text
    labels = " ".join(own["aria-label"] for own in page.named("svg"))
    assert "broken" in labels and "target 25 " in labels and "target 0 " not in labels


def test_an_audit_that_has_just_begun():
    page = read(make_audit(left=212))
    assert "No claim is audited yet." in page.text and "not audited yet: 212" in page.text


@pytest.mark.parametrize("wrong", [{}, {"reports": 3}, {"reports": [{"target": "a"}]}, {"reports": ["a"]}])
def test_other_data_is_refused(wrong):
    with pytest.raises(InputError, match="audit"):
        audit_page(wrong)


def test_an_audit_of_other_types_is_refused_in_words(monkeypatch):
    monkeypatch.setattr(audit.figures, "of_claim", lambda *_: "")
    document = json.loads(json.dumps(make_audit(make_claim())))
    for what, changed in hostile.replaced(document, seed=0, each=len(hostile.WRONG)):
        try:
            audit.audit_page(changed)
        except InputError:
            continue
        except Exception as error:
            raise AssertionError(what) from error
