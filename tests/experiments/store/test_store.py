"""Equal configurations give equal bytes; a kill, a full disk or a broken file never costs another cell."""

import errno
import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from dpjax.core.checks import InputError
from dpjax.experiments.store import cell_file as module
from dpjax.experiments.store.canonical import canonical, native
from dpjax.experiments.store.store import BrokenCell, Cell, Status, Store, cell_hash, versions

REPOSITORY = Path(__file__).parents[3]
CONFIG = {"learner": "points", "n": 128, "epsilon": 0.5, "delta": 1e-6, "seed": 0, "tile": 512, "device": "cpu:cpu"}
FILE_LIMIT = 20_000


def counts(tiles, seed=0):
    """Some counts; those of fewer tiles are a prefix."""
    one, two = (np.random.default_rng((seed, column)) for column in range(2))
    trials = np.full(tiles, 512, np.int64)
    return {"trials": trials, "successes": one.binomial(trials, 0.5), "no_answer": two.integers(0, 2**40, tiles)}


def prefix(tiles, length):
    return {name: column[:length] for name, column in tiles.items()}


def same(left, right):
    return left.keys() == right.keys() and all(np.array_equal(left[name], right[name]) for name in left)


def temporary_files(root):
    return list(Path(root).rglob(".tmp-*"))


def child(source, *arguments, environment=None, **options):
    """A Python process of its own, in which dpjax and this file can be imported."""
    path = os.pathsep.join([str(REPOSITORY), str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")])
    return subprocess.Popen(
        [sys.executable, "-c", source, *map(str, arguments)],
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env=os.environ | {"PYTHONPATH": path} | (environment or {}),
        **options,
    )


@pytest.fixture
def store(tmp_path):
    with Store(tmp_path / "results") as opened:
        yield opened


# What is written is what is read


def test_round_trip(store):
    assert store.read(CONFIG) is None
    store.write(CONFIG, counts(7))
    got = store.read(CONFIG)
    assert same(got, counts(7))
    assert all(column.dtype == np.int64 for column in got.values())
    assert store.path(CONFIG) == store.root / "cells" / cell_hash(CONFIG)[:2] / f"{cell_hash(CONFIG)}-7.parquet"
    assert store.path(CONFIG | {"n": 129}) is None
    assert store.read(CONFIG | {"n": 129}) is None


def test_file_is_plain_parquet_with_its_configuration(store):
    store.write(CONFIG, counts(3))
    table = pq.read_table(store.path(CONFIG), partitioning=None)
    assert table.column_names == ["no_answer", "successes", "trials"]
    about = table.schema.metadata
    assert json.loads(about[b"dpjax.versions"]) == versions()
    assert json.loads(about[b"dpjax.config"])["epsilon"] == {"$float": (0.5).hex()}


def test_cells_come_back_with_configuration_and_in_order_of_hash(store):
    config = CONFIG | {"nested": {"alpha": [0.1, 2, None, True]}, "text": "0x1p-1"}
    store.write(config, counts(2))
    store.write(CONFIG, counts(3))
    cells = list(store.iter_cells())
    assert [cell.hash for cell in cells] == sorted([cell_hash(config), cell_hash(CONFIG)])
    assert {cell.hash: cell.config for cell in cells} == {cell_hash(config): config, cell_hash(CONFIG): CONFIG}
    assert all(isinstance(cell, Cell) and cell.versions == versions() for cell in cells)


def test_small_integers_are_taken_and_others_refused(store):
    store.write(CONFIG, {"trials": np.array([1, 2], np.uint8), "successes": [0, 2]})
    assert same(store.read(CONFIG), {"trials": np.array([1, 2]), "successes": np.array([0, 2])})
    other = CONFIG | {"n": 1}
    for bad in (
        {"a": [0.5]},
        {"a": [True]},
        {"a": []},
        {"a": 3},
        {"a": [[1]]},
        {"a": [1], "b": [1, 2]},
        {},
        {"trial": [0]},
        {"a": np.array([2**63], np.uint64)},
    ):
        with pytest.raises(InputError, match="rows"):
            store.write(other, bad)
    assert store.read(other) is None


# Equal configuration, equal bytes


def test_bytes_do_not_depend_on_steps_time_or_order(tmp_path):
    whole, steps = counts(40), [1, 7, 7, 39, 40]
    with Store(tmp_path / "a") as a, Store(tmp_path / "b") as b:
        a.write(CONFIG, whole)
        for length in steps:
            b.write(dict(reversed(CONFIG.items())), prefix(dict(reversed(whole.items())), length))
        first = a.path(CONFIG).read_bytes()
        assert first == b.path(CONFIG).read_bytes()
        a.write(CONFIG, whole)
        assert first == a.path(CONFIG).read_bytes()


def test_bytes_do_not_depend_on_the_process(tmp_path):
    source = """
import sys
from test_store import CONFIG, counts
from dpjax.experiments.store.store import Store
Store(sys.argv[1]).write(CONFIG, counts(40))
"""
    for hash_seed in ("1", "2"):
        process = child(source, tmp_path / hash_seed, environment={"PYTHONHASHSEED": hash_seed, "TZ": "Asia/Tokyo"})
        output, _ = process.communicate(timeout=60)
        assert process.returncode == 0, output
    with Store(tmp_path / "here") as here:
        here.write(CONFIG, counts(40))
    files = [path.read_bytes() for path in sorted(tmp_path.rglob("*.parquet"))]
    assert len(files) == 3
    assert len(set(files)) == 1


def test_longer_prefix_is_never_replaced_by_a_shorter_one(store):
    store.write(CONFIG, counts(9))
    before = store.path(CONFIG).read_bytes()
    store.write(CONFIG, prefix(counts(9), 4))
    assert store.path(CONFIG).read_bytes() == before


def test_contradicting_tiles_columns_or_versions_are_refused(store, monkeypatch):
    store.write(CONFIG, counts(9))
    before = store.path(CONFIG).read_bytes()
    changed = counts(12)
    changed["successes"] = changed["successes"].copy()
    changed["successes"][3] += 1
    for tiles in (changed, prefix(changed, 5), counts(12) | {"more": np.arange(12)}):
        with pytest.raises(InputError, match="not reproducible"):
            store.write(CONFIG, tiles)
    monkeypatch.setattr(module, "versions", lambda: {"dpjax": "9", "jax": "9", "jaxlib": "9"})
    with pytest.raises(InputError, match="versions that began the cell"):
        store.write(CONFIG, counts(12))
    assert store.path(CONFIG).read_bytes() == before


# Broken files


def damaged(store, change):
    store.write(CONFIG, counts(30))
    store.write(CONFIG | {"n": 1}, counts(2))
    path = store.path(CONFIG)
    change(path)
    return path


def tamper(path):
    """A well-formed file with one count changed and the old metadata."""
    table = pq.read_table(path, partitioning=None)
    column = table["successes"].to_numpy().copy()
    column[0] += 1
    index = table.column_names.index("successes")
    pq.write_table(table.set_column(index, "successes", pa.array(column)), path)


def forget_the_order(path):
    table = pq.read_table(path, partitioning=None)
    pq.write_table(table.take(np.arange(30)[::-1]), path)


def without_metadata(path):
    pq.write_table(pq.read_table(path, partitioning=None).replace_schema_metadata(None), path)


def under_another_name(path):
    with Store(path.parents[2], read_only=True) as other:
        path.write_bytes(other.path(CONFIG | {"n": 1}).read_bytes())


DAMAGES = [
    tamper,
    forget_the_order,
    without_metadata,
    under_another_name,
    lambda path: path.write_bytes(b""),
    lambda path: path.write_bytes(b"PAR1 not a parquet file PAR1"),
    lambda path: path.write_bytes(path.read_bytes()[:-20]),
    lambda path: path.write_bytes(path.read_bytes()[20:]),
    lambda path: (path.unlink(), path.mkdir()),
]


@pytest.mark.parametrize("change", DAMAGES)
def test_broken_file_is_named_and_kept(store, change):
    path = damaged(store, change)
    for use in (lambda: store.read(CONFIG), lambda: store.write(CONFIG, counts(31)), lambda: list(store.iter_cells())):
        with pytest.raises(InputError, match="run again with --repair, or move the file away") as caught:
            use()
        assert str(path) in str(caught.value)
    assert path.exists()
    assert store.status() == Status(cells=1, trials=2, broken=(str(path),))
    with pytest.raises(InputError, match="move the file away"):
        store.compact(store.root / "all.parquet")
    path.rename(store.root / "aside")
    store.write(CONFIG, counts(30))
    assert same(store.read(CONFIG), counts(30))


def test_no_cut_and_no_flipped_byte_changes_a_count(store):
    """Every length, and every 3rd byte with another value: refused, or read as it was written."""
    store.write(CONFIG, counts(30))
    path = store.path(CONFIG)
    whole, rng, refused = path.read_bytes(), random.Random(0), 0
    for length in range(0, len(whole), 7):
        path.write_bytes(whole[:length])
        with pytest.raises(InputError):
            store.read(CONFIG)
    for position in range(0, len(whole), 3):
        flipped = bytearray(whole)
        flipped[position] ^= rng.randrange(1, 256)
        path.write_bytes(flipped)
        try:
            assert same(store.read(CONFIG), counts(30))
        except InputError:
            refused += 1
    assert refused > len(whole) / 3 / 2


# Kills, locks, full disks

WRITER = """
import itertools, sys
import numpy as np
from dpjax.experiments.store.store import Store
store = Store(sys.argv[1])
print("ready", flush=True)
for i in itertools.count():
    rng = np.random.default_rng(i % 40)
    whole = {"trials": np.full(20_000, 512), "successes": rng.integers(0, 513, 20_000)}
    for length in (500, 20_000):
        store.write({"n": i % 40, "round": i // 40}, {name: column[:length] for name, column in whole.items()})
"""


def test_kill_at_any_moment_leaves_no_unreadable_cell(tmp_path):
    rng, cells = random.Random(1), 0
    for turn in range(5):
        process = child(WRITER, tmp_path)
        assert process.stdout.readline() == "ready\n"
        deadline = time.monotonic() + 30
        while len(list(tmp_path.rglob("*.parquet"))) <= turn and time.monotonic() < deadline:
            time.sleep(0.01)
        time.sleep(rng.uniform(0.02, 0.5))
        process.send_signal(signal.SIGKILL)
        process.communicate()
        status = Store(tmp_path, read_only=True).status()
        assert status.broken == ()
        assert status.cells > 0
        cells = max(cells, status.cells)
    with Store(tmp_path) as again:
        for cell in again.iter_cells():
            want = np.random.default_rng(cell.config["n"]).integers(0, 513, 20_000)
            assert np.array_equal(cell.rows["successes"], want[: len(cell.rows["successes"])])
    assert cells > 3


PREFIXES = """
import random, sys
import numpy as np
from test_store import CONFIG, counts, prefix
from dpjax.experiments.store.store import Store
rng, whole = random.Random(int(sys.argv[2])), counts(200)
with Store(sys.argv[1]) as store:
    print("ready", flush=True)
    sys.stdin.readline()
    for _ in range(150):
        store.write(CONFIG | {"n": rng.randrange(3)}, prefix(whole, rng.randint(1, 150)))
    store.write(CONFIG | {"n": 0}, prefix(whole, 151 + int(sys.argv[2])))
"""


def test_many_writers_never_shorten_a_cell(tmp_path):
    """Four processes store random prefixes of the same cells; an onlooker sees each only grow."""
    writers = [child(PREFIXES, tmp_path, seed, stdin=subprocess.PIPE) for seed in range(4)]
    for writer in writers:
        assert writer.stdout.readline() == "ready\n"
    for writer in writers:
        writer.stdin.write("go\n")
        writer.stdin.flush()
    seen = {n: 0 for n in range(3)}
    with Store(tmp_path, read_only=True) as onlooker:
        while any(writer.poll() is None for writer in writers):
            for n in seen:
                rows = onlooker.read(CONFIG | {"n": n})
                length = 0 if rows is None else len(rows["trials"])
                assert length >= seen[n]
                seen[n] = length
                assert not length or same(rows, prefix(counts(200), length))
    assert [writer.communicate()[0] for writer in writers] == [""] * 4
    with Store(tmp_path) as store:
        assert len(store.read(CONFIG | {"n": 0})["trials"]) == 154
        assert min(seen.values()) > 100
        store.write(CONFIG | {"n": 0}, counts(200))
    assert len(list(tmp_path.rglob("*.parquet"))) == 3, "files of fewer trials are removed"


def test_a_shorter_file_that_a_killed_writer_left_is_not_read(store):
    store.write(CONFIG, counts(5))
    short = store.path(CONFIG).read_bytes()
    place = store.path(CONFIG)
    store.write(CONFIG, counts(9))
    assert not place.exists()
    place.write_bytes(short)
    assert same(store.read(CONFIG), counts(9)) and store.status() == Status(1, 9, ())
    store.write(CONFIG, counts(10))
    assert not place.exists()


def test_a_file_of_another_host_may_come_late(tmp_path):
    """Over a network a new file may be listed before its content can be read; later it is whole."""
    with Store(tmp_path) as store:
        store.write(CONFIG, counts(5))
    whole = store.path(CONFIG).read_bytes()
    store.path(CONFIG).write_bytes(whole[:40])
    threading.Timer(0.5, store.path(CONFIG).write_bytes, [whole]).start()
    with Store(tmp_path, patience=30) as patient:
        assert same(patient.read(CONFIG), counts(5))
    with Store(tmp_path, patience=0.3) as hasty:
        store.path(CONFIG).write_bytes(b"")
        with pytest.raises(BrokenCell):
            hasty.read(CONFIG)


def test_broken_files_are_moved_aside(store):
    for n in range(4):
        store.write(CONFIG | {"n": n}, counts(3))
    for n in (1, 2):
        store.path(CONFIG | {"n": n}).write_bytes(b"broken")
    assert len(store.status().broken) == 2
    moved = store.repair()
    assert [path.read_bytes() for path in moved] == [b"broken"] * 2
    assert store.status() == Status(2, 6, ()) and store.repair() == []
    store.write(CONFIG | {"n": 1}, counts(4))
    assert store.counts() == (3, 10)


def test_closed_and_read_only_stores_write_nothing(tmp_path):
    with Store(tmp_path) as store:
        store.write(CONFIG, counts(1))
    for shut in (store, Store(tmp_path, read_only=True)):
        with pytest.raises(InputError, match="without read_only"):
            shut.write(CONFIG, counts(2))


def test_only_old_temporary_files_are_swept(tmp_path):
    with Store(tmp_path) as first:
        first.write(CONFIG, counts(1))
        folder = first.path(CONFIG).parent
    young, old = folder / ".tmp-1-young", folder / ".tmp-1-old"
    for leftover in (young, old):
        leftover.write_bytes(b"half a cell")
    os.utime(old, (time.time() - 7200,) * 2)
    Store(tmp_path, read_only=True)
    assert old.exists()
    with Store(tmp_path) as second:
        assert not old.exists()
        assert young.exists(), "another process may be writing it"
        assert second.status() == Status(1, 1, ())


def test_file_systems_without_synced_directories_or_links_work(tmp_path, monkeypatch):
    real = os.fsync

    def fsync(descriptor):
        if os.fstat(descriptor).st_mode & 0o040000:
            raise OSError(errno.EINVAL, "fsync of a directory")
        real(descriptor)

    monkeypatch.setattr(os, "fsync", fsync)
    with Store(tmp_path) as store:
        store.write(CONFIG, counts(3))
        assert same(store.read(CONFIG), counts(3))


def test_full_disk_is_said_and_costs_nothing(tmp_path):
    """A limit on file sizes stands for the full disk: the operating system stops the write half way."""
    source = """
import resource, sys
from test_store import CONFIG, FILE_LIMIT, counts
from dpjax.core.checks import InputError
from dpjax.experiments.store.store import Store
store = Store(sys.argv[1])
store.write(CONFIG, counts(10))
resource.setrlimit(resource.RLIMIT_FSIZE, (FILE_LIMIT, FILE_LIMIT))
for config in (CONFIG, CONFIG | {"n": 7}):
    try:
        store.write(config, counts(10) if config is CONFIG else counts(50_000))
    except InputError as error:
        print(error)
store.write(CONFIG | {"n": 8}, counts(10))
"""
    process = child(source, tmp_path)
    output, _ = process.communicate(timeout=60)
    assert process.returncode == 0, output
    assert "room to write" in output
    assert "EFBIG" in output
    assert "free some space" in output
    assert temporary_files(tmp_path) == []
    with Store(tmp_path) as store:
        assert same(store.read(CONFIG), counts(10))
        assert store.read(CONFIG | {"n": 7}) is None
        assert store.status() == Status(2, 20, ())


@pytest.mark.parametrize("step", ["write", "fsync", "replace"])
@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EACCES])
def test_every_refusal_of_the_system_is_an_input_error(store, monkeypatch, step, code):
    store.write(CONFIG, counts(3))

    def refuse(*_):
        raise OSError(code, os.strerror(code))

    with monkeypatch.context() as patch:
        patch.setattr(os, step, refuse)
        with pytest.raises(InputError, match="all that was stored before is intact") as caught:
            store.write(CONFIG, counts(5))
    assert ("room" in str(caught.value)) == (code in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG))
    assert temporary_files(store.root) == []
    assert same(store.read(CONFIG), counts(3))
    store.write(CONFIG, counts(5))
    assert same(store.read(CONFIG), counts(5))


def test_directory_that_cannot_be_used_is_refused(tmp_path):
    file = tmp_path / "file"
    file.write_text("in the way")
    for root in (file, file / "below", Path("/proc/none/store")):
        with pytest.raises(InputError, match="can be written to"):
            Store(root)
    with pytest.raises(InputError, match="directory with results"):
        Store(tmp_path / "absent", read_only=True)
    assert not (tmp_path / "absent").exists()
    with Store(tmp_path / "good") as store:
        store.write(CONFIG, counts(1))
        with pytest.raises(InputError, match="can be written to"):
            store.compact(file / "all.parquet")


# One file of everything


def test_compact_holds_every_tile_in_long_format(store, tmp_path):
    other = CONFIG | {"n": 256, "epsilon": 0.1}
    store.write(CONFIG, counts(3))
    store.write(other, {"trials": [512, 512], "extra": [4, 5]})
    path = tmp_path / "out" / "all.parquet"
    assert store.compact(path) == 5
    table = pq.read_table(path)
    assert table.column_names == ["cell", "config", "versions", "trial", "extra", "no_answer", "successes", "trials"]
    rows = table.to_pylist()
    assert [(row["cell"], row["trial"]) for row in rows] == sorted((row["cell"], row["trial"]) for row in rows)
    mine = [row for row in rows if json.loads(row["config"]) == CONFIG]
    assert [row["successes"] for row in mine] == counts(3)["successes"].tolist()
    assert [row["extra"] for row in mine] == [None] * 3
    assert store.status().trials == 5
    before = path.read_bytes()
    store.compact(path)
    assert path.read_bytes() == before


def test_bytes_stay_bytes(store):
    store.write(CONFIG, {"outcome": np.arange(200, dtype=np.uint8)})
    assert store.read(CONFIG)["outcome"].dtype == np.uint8
    assert store.path(CONFIG).stat().st_size < 3000


@pytest.mark.parametrize("read_only", [True, False])
@pytest.mark.parametrize("content", [None, '{"schema": 2}', '{"schema": 4}', "[]"])
def test_a_store_of_another_format_is_refused_and_left_alone(tmp_path, content, read_only):
    with Store(tmp_path) as one:
        one.write(CONFIG, counts(3))
    mark = tmp_path / "format.json"
    mark.unlink() if content is None else mark.write_text(content)
    files = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    with pytest.raises(InputError, match=r"a store of format 3.*choose another directory"):
        Store(tmp_path, read_only=read_only)
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == files


def test_compact_of_nothing_says_so(store, tmp_path):
    with pytest.raises(InputError, match="run the sweep first"):
        store.compact(tmp_path / "all.parquet")


# The hash of a configuration

LEAVES = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False, allow_infinity=False), st.text(max_size=5)
)
KEYS = st.text(max_size=4).filter(lambda key: not key.startswith("$"))
VALUES = st.recursive(LEAVES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3))
CONFIGS = st.dictionaries(KEYS, VALUES, max_size=4)
SETTINGS = settings(derandomize=True, max_examples=100, deadline=None, database=None)
EXAMPLES = pytest.mark.parametrize("examples", [40, pytest.param(300, marks=pytest.mark.slow)])


def typed(value):
    """A value that is equal exactly where two configurations are: types count, the order of keys does not."""
    if isinstance(value, dict):
        return frozenset((key, typed(item)) for key, item in value.items())
    return tuple(map(typed, value)) if isinstance(value, list) else (type(value), value)


def reordered(value, rng):
    if isinstance(value, dict):
        keys = list(value)
        rng.shuffle(keys)
        return {key: reordered(value[key], rng) for key in keys}
    return tuple(reordered(item, rng) for item in value) if isinstance(value, list) else value


@EXAMPLES
def test_hash_does_not_depend_on_the_order_of_keys(examples):
    @settings(SETTINGS, max_examples=examples)
    @given(CONFIGS, st.randoms(use_true_random=False))
    def check(config, rng):
        assert cell_hash(config) == cell_hash(reordered(config, rng))

    check()


@EXAMPLES
def test_different_configurations_have_different_hashes(examples):
    @settings(SETTINGS, max_examples=examples)
    @given(CONFIGS, CONFIGS)
    def check(left, right):
        assume(typed(left) != typed(right))
        assert cell_hash(left) != cell_hash(right)

    check()


@SETTINGS
@given(CONFIGS, KEYS, VALUES, VALUES)
def test_one_changed_value_changes_the_hash(config, key, old, new):
    assert (cell_hash(config | {key: old}) == cell_hash(config | {key: new})) == (typed(old) == typed(new))


@SETTINGS
@given(CONFIGS)
def test_configuration_comes_back_from_its_text(config):
    assert typed(native(json.loads(canonical(config)))) == typed(config)


def test_hash_tells_types_apart_and_takes_numpy_scalars():
    values = [1, 1.0, True, "1", None, "0x1.0000000000000p+0", [1], {"a": 1}, "None", [], {}]
    assert len({cell_hash({"a": value}) for value in values}) == len(values)
    assert cell_hash({"a": np.int64(1), "b": np.float64(0.1), "c": np.bool_(True)}) == cell_hash(
        {"a": 1, "b": 0.1, "c": True}
    )
    assert cell_hash({"a": -0.0}) == cell_hash({"a": 0.0})
    assert cell_hash({"a": 0.1}) != cell_hash({"a": float(np.nextafter(0.1, 1))})


def test_hash_is_the_one_of_this_schema():
    """Golden: a change here makes every stored result unreachable, and needs a new SCHEMA."""
    assert cell_hash(CONFIG) == "46c9f7b4e61d8888e9393abbd87af73251a902a5f8f5d2cb66d4f34225c97454"


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), {1, 2}, {1: 2}, {"$float": "0x1p+0"}, np.ones(2), b"x"])
def test_hash_refuses_what_it_cannot_write_down(bad):
    with pytest.raises(InputError, match=r"config\.outer\[1\]"):
        cell_hash({"outer": [1, bad]})
