"""Records of a study's items: what cannot be read decides nothing."""

import json

from dpjax.experiments.store.records import Records


def test_records(tmp_path):
    records = Records(tmp_path)
    assert records.done("item") is None and records.failed("item") is None
    records.record_failed("item", failure := {"error": "e", "traceback": "t"})
    assert records.failed("item") == failure and records.names() == (set(), {"item"})
    records.record_done("item", {"trials": 3})
    assert records.names() == ({"item"}, set())
    for broken in (b"", b"[1]", b"{"):
        (tmp_path / "queue" / "done" / "item").write_bytes(broken)
        assert records.done("item") is None
    assert json.dumps(records.failed("item")) == "null"


def test_records_that_are_only_read_write_nothing(tmp_path):
    records = Records(tmp_path)
    assert records.names() == (set(), set()) and records.failures() == []
    assert list(tmp_path.iterdir()) == []


def test_records_of_other_code_are_removed(tmp_path):
    records = Records(tmp_path)
    records.begin("code")
    records.record_done("item", {"trials": 3})
    for code, kept in (("code", True), (None, True), ("other code", False)):
        records.begin(code)
        assert (records.done("item") is not None) == kept
