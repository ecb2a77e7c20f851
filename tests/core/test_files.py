"""What is read from a path that anybody may have filled."""

import json
import os

import pytest

from dpjax.core.documents import parse_json, sealed, unsealed
from dpjax.core.files import StoreError, names_in, read_bytes, read_file
from dpjax.core.owners import is_private
from tests.inputs.hostile import flips, odd_files

STRANGER = 54321


def test_only_regular_files_are_read(tmp_path):
    for what, make in odd_files():
        make(path := tmp_path / what)
        with pytest.raises(OSError, match=r"regular file|beyond the limit|symbolic links"):
            read_bytes(path)
    with pytest.raises(OSError, match="no name of a file"):
        read_bytes("a\0b")
    assert read_file(tmp_path / "none") is None


def test_the_size_is_checked_before_a_file_is_read(tmp_path, monkeypatch):
    (tmp_path / "file").write_bytes(bytes(100))
    assert len(read_bytes(tmp_path / "file", 100)) == 100
    monkeypatch.setattr(os, "read", lambda *_: pytest.fail("read"))
    with pytest.raises(OSError, match="100 bytes, beyond the limit of 99"):
        read_bytes(tmp_path / "file", 99)


def test_a_file_in_place_of_a_folder(tmp_path):
    (tmp_path / "cells").touch()
    with pytest.raises(StoreError, match="a folder"):
        names_in(tmp_path / "cells")


@pytest.mark.parametrize("text", ["", "NaN", "[1e999]", "-Infinity", '"\\ud800"', "[" * 200_000, "{", "1" * 5000])
def test_what_is_no_json(text):
    with pytest.raises(ValueError, match=r"."):
        parse_json(text)


def test_a_digest_shows_every_flipped_bit():
    data = {"points": [{"n": 20, "epsilon": 0.5, "name": "a\n"}], "left": None}
    assert unsealed(sealed(data)) == data == unsealed(json.dumps(data))
    for damaged in flips(sealed(data), 400, seed=0):
        try:
            found = unsealed(damaged)
            assert {name: found[name] for name in data} == data  # the flip is in a space, or in the digest's name
        except ValueError:
            continue
    for other in ("[]", "null", "1"):
        with pytest.raises(ValueError, match="no object"):
            unsealed(other)


@pytest.fixture
def stranger(monkeypatch):
    """Makes a path another user's: of those that belong to no one else here, by what the system tells of it."""
    theirs, told = set(), os.lstat

    def lstat(path, **how):
        found = told(path, **how)
        return os.stat_result((*found[:4], STRANGER, *found[5:])) if str(path) in theirs else found

    monkeypatch.setattr(os, "lstat", lstat)
    return lambda path: theirs.add(str(path))


def test_who_may_have_written_a_folder(tmp_path, stranger):
    (folder := tmp_path / "a" / "b").mkdir(parents=True)
    assert is_private(folder)
    assert not is_private(folder / "none")
    for place, mode in ((folder, 0o777), (folder.parent, 0o777), (folder, 0o1777)):
        place.chmod(mode)
        assert not is_private(folder)
        place.chmod(0o755)
    folder.parent.chmod(0o1777)  # as /tmp
    assert is_private(folder)
    (link := tmp_path / "link").symlink_to("a/../a")
    assert is_private(link / "b")
    stranger(link)
    assert not is_private(link / "b") and is_private(folder)
    stranger(folder)
    assert not is_private(folder)


def test_a_group_of_others(tmp_path, monkeypatch):
    tmp_path.chmod(0o770)
    monkeypatch.setattr("dpjax.core.owners._only_ours", lambda group: True)
    assert is_private(tmp_path)
    monkeypatch.setattr("dpjax.core.owners._only_ours", lambda group: False)
    assert not is_private(tmp_path)
