"""Trials and the engine: a trial is a function of what it is, and nothing about how it is run changes a count."""

import inspect
import itertools
import textwrap
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from types import SimpleNamespace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from dpjax.concepts import Domain, Points, Thresholds, Unions
from dpjax.concepts import distributions as make
from dpjax.core import keys, wide
from dpjax.core.checks import InputError
from dpjax.core.types import Accuracy, Privacy
from dpjax.experiments.run import engine, memory, tiles
from dpjax.experiments.run.trial import Trial, point
from dpjax.experiments.store import error_bins
from dpjax.experiments.store.capacity import capacity
from dpjax.experiments.sweep.task import Task
from dpjax.learners import KLN, Independent, PointLearner, UnionLearner
from dpjax.mechanisms.cover import Pieces
from tests.experiments import fast

TILES, SEED = 4, 7


def problem():
    """A study's point with mixed outcomes, and a task; imports are its own because other processes run it too."""
    from dpjax.concepts import Domain, Points, distributions
    from dpjax.core.types import Accuracy, Privacy
    from dpjax.experiments.run.trial import Trial, point
    from dpjax.experiments.sweep.task import Task
    from dpjax.learners import PointLearner

    domain = Domain(2**40)
    task = Task(Points(domain), distributions.adversarial_points(domain, 0.2))
    learner = PointLearner(task.concepts)
    # 60 rows: released or not, answered or not, right or not
    where = point(b"identity of it", 60, learner.plan(Privacy(6.0, 1e-3), Accuracy(0.2, 0.1)), 0.2, task)
    return Trial(learner, 3, 64), task, where


def median_problem(n=30, epsilon=2.0, alpha=0.1, identity=b"identity", domain=1000):
    concepts = Thresholds(Domain(domain))
    task = Task(concepts, make.uniform(concepts.domain), range(100, 900, 50))
    learner = Independent(KLN(concepts), 2, "optimal")
    plan = learner.plan(Privacy(epsilon, 1e-6), Accuracy(alpha, 0.1), n)
    return Trial(learner, 2, 32), task, point(identity, n, plan, alpha, task)


def run(machine, trial, task, where, first=0, last=TILES):
    """The outcomes of tiles first, ..., last - 1, however many come at once."""
    program = tiles.traced(trial, task, where)
    found = list(machine.tiles(program, task, where, SEED, first * program.tile, last * program.tile))
    return [] if not found else np.concatenate(found).reshape(-1, program.tile).tolist()


@pytest.fixture(scope="module")
def machine():
    with engine.Engine(in_flight=1) as one:
        yield one


@pytest.fixture(scope="module")
def reference(machine):
    """The counts of the first tiles, one at a time."""
    return run(machine, *problem())


@pytest.fixture(scope="module")
def trials():
    """The trials of `problem` by their keys, as many at once as a tile has: one program for two tests."""
    trial, task, where = problem()
    batch = jax.jit(jax.vmap(trial, (0, None, None)))
    return lambda trial_keys: np.asarray(batch(trial_keys, task, where))


# --- one trial ---------------------------------------------------------------------------------------------------


def test_a_trial_is_what_it_says():
    """Target, sample, hypothesis and error, worked out again from the trial's named streams."""
    trial, task, where = median_problem()
    learner, domain = trial.learner, trial.learner.concepts.domain

    @jax.jit
    def parts(key):
        sample, target = task.draw(keys.stream(key, "data"), where.n, 2, 32)
        found = learner.learn(keys.stream(key, "learner"), sample, where.plan)
        return trial(key, task, where), target, sample, found, task.error(found, target)

    seen, ends = [], [float(edge) for edge in error_bins.edges(0.1)]
    for key in jax.random.split(jax.random.key(2), 12):
        outcome, target, sample, found, error = parts(key)
        assert all(int(v) in range(100, 900, 50) for v in wide.decode(target.concept))
        x = domain.decode(sample.x).astype(int)
        assert int(sample.size) == 30 and x.max() < 1000
        np.testing.assert_array_equal(sample.y, x[:, None] <= wide.decode(target.concept).astype(int))
        wrong = np.abs(wide.decode(found.concept).astype(int) - wide.decode(target.concept).astype(int)).max()
        place = int(error_bins.bins(outcome))
        assert wrong / 1000 <= ends[place] and (place == 0 or wrong / 1000 > ends[place - 1])
        assert bool(error_bins.successes(outcome, 0.1)) == (wrong <= 100)  # alpha = 0.1 of a uniform domain of 1000
        assert not error_bins.silent(outcome)
        np.testing.assert_allclose(error.max(), wrong / 1000, rtol=1e-6)
        seen.append(place)
    assert len(set(seen)) > 1


def test_a_trial_depends_on_its_key_alone(trials):
    size, _ = tiles.tile_shape(problem()[0])
    trial_keys = jax.random.split(jax.random.key(0), size)
    together = trials(trial_keys)
    np.testing.assert_array_equal(trials(trial_keys[::-1]), together[::-1])
    assert together.dtype == np.uint8
    assert 0 < error_bins.successes(together, 0.2).sum() < size, "mixed outcomes, so that equality means something"


@pytest.mark.parametrize("bad", [{"n": 0}, {"n": 1.5}, {"alpha": 0.0}, {"alpha": 1.0}], ids=str)
def test_points_that_are_none_are_refused(bad):
    numbers = {"n": 5, "alpha": 0.1} | bad
    with pytest.raises(InputError):
        point(b"identity", plan=None, task=Task(Points(Domain(10)), make.uniform(Domain(10))), **numbers)


def test_trials_are_equal_by_value():
    assert problem()[0] == problem()[0] and hash(problem()[0]) == hash(problem()[0])
    assert problem()[0] != median_problem()[0]


# --- tiles -------------------------------------------------------------------------------------------------------


def test_a_tile_is_its_trials(reference, trials):
    """Tile t of size B holds the trials t B, ..., t B + B - 1 of the point's key."""
    trial, _, where = problem()
    size, _ = tiles.tile_shape(trial)

    @jax.jit
    def keys_of(root, identity, places):
        return jax.vmap(keys.of_trial, (None, 0))(keys.of_point(root, identity), places)

    trial_keys = keys_of(keys.root(SEED), where.identity, np.arange(2 * size, 3 * size, dtype=np.uint32))
    assert trials(trial_keys).tolist() == reference[2]
    assert len(reference[2]) == size


def test_the_reference_is_mixed(reference):
    found = np.concatenate(reference).astype(np.uint8)
    assert 0.05 < error_bins.successes(found, 0.2).mean() < 0.95 and error_bins.silent(found).any()
    assert len({tuple(tile) for tile in reference}) == TILES


@pytest.mark.parametrize("in_flight", [4, 16])
def test_tiles_in_flight_change_nothing(in_flight, machine, reference):
    with engine.Engine(in_flight=in_flight) as one:
        one._programs = machine._programs  # compiled once for all of these tests
        assert run(one, *problem()) == reference
        assert one.trials == TILES * tiles.tile_shape(problem()[0])[0] and one.programs == 0


def test_the_order_of_tiles_changes_nothing(machine, reference):
    order = np.random.default_rng(3).permutation(TILES)
    found = {int(t): run(machine, *problem(), first=int(t), last=int(t) + 1)[0] for t in order}
    assert [found[t] for t in range(TILES)] == reference
    assert run(machine, *problem(), first=1, last=3) == reference[1:3]
    assert run(machine, *problem(), first=3, last=3) == []


@pytest.mark.slow  # the engine runs the same program in another order above
def test_a_jitted_tile_at_any_place_is_that_tile(machine, reference):
    """Without the engine: the tile's program with its first trial as an argument, in a shuffled order."""
    trial, task, where = problem()
    size, block = tiles.tile_shape(trial)
    program = tiles.tile_program(trial)
    root = jax.random.key_data(keys.root(SEED))
    for tile in np.random.default_rng(4).permutation(TILES):
        found = program(root, task, where, jnp.uint32(tile * size), jnp.int32(size // block))
        assert np.asarray(found).tolist() == reference[tile]


def test_points_have_streams_of_their_own(machine, reference):
    """Another identity is other trials; the same identity at another epsilon has the same samples."""
    trial, task, where = problem()
    moved = point(b"another identity", 60, where.plan, 0.2, task)
    assert run(machine, trial, task, moved) != reference
    size, _ = tiles.tile_shape(trial)
    other_seed = machine.tiles(tiles.traced(trial, task, where), task, where, SEED + 1, 0, TILES * size)
    assert np.concatenate(list(other_seed)).tolist() != np.concatenate(reference).tolist()


PROGRAM = """
import json, os
import numpy as np
from dpjax.experiments.run import engine
from dpjax.experiments.run import tiles
engine.host_devices({devices})
import jax
{source}
assert len(jax.local_devices()) == {devices}
assert jax.config.jax_enable_x64 == (os.environ["JAX_ENABLE_X64"] == "1")
with engine.Engine(in_flight={in_flight}) as machine:
    program = tiles.traced(*problem())
    found = machine.tiles(program, *problem()[1:], {seed}, 0, {tiles} * program.tile)
    found = np.concatenate(list(found)).reshape(-1, program.tile).tolist()
    spread = list(machine.tiles_of.values())
    print(json.dumps([found, machine.programs, machine.compiled, spread, engine.device_kind()]))
"""


@pytest.mark.slow
@pytest.mark.parametrize(("devices", "in_flight", "x64"), [(2, 4, "1"), (1, 1, "1"), (8, 16, "1")])
def test_devices_and_64_bit_types_change_nothing(devices, in_flight, x64, reference, fresh):
    source = textwrap.dedent(inspect.getsource(problem))
    program = PROGRAM.format(devices=devices, in_flight=in_flight, source=source, seed=SEED, tiles=TILES)
    found, programs, compiled, spread, kind = fresh(program, JAX_ENABLE_X64=x64)
    assert found == reference
    assert programs == 1 and compiled <= 1 and kind == engine.device_kind()
    assert max(spread) - min(spread) <= 1 and len(spread) == devices


# --- nothing is compiled twice -----------------------------------------------------------------------------------


@pytest.fixture
def compiled():
    """Names of the programs that XLA compiles while the test runs."""
    events = []

    def listen(event, duration, **details):
        if "backend_compile" in event:
            events.append(details.get("fun_name", event))

    jax.monitoring.register_event_duration_secs_listener(listen)
    yield events
    jax.monitoring.unregister_event_duration_listener(listen)


def test_new_numbers_compile_nothing(compiled):
    with engine.Engine(in_flight=2) as one:
        run(one, *median_problem(), last=2)
        assert one.programs == 1 and compiled, "the listener hears compilations"
        # everything that a point is made of, on the host, and another task of the same shape
        points = [
            median_problem(n, epsilon, alpha, identity)
            for n, epsilon, alpha, identity in (
                (17, 0.5, 0.1, b"second id"),
                (32, 8.0, 0.05, b"third, id"),
                (1, 1.0, 0.2, b"fourth id"),
            )
        ]
        compiled.clear()
        for trial, task, where in points:
            run(one, trial, task, where, last=3)
        assert one.programs == 1 and compiled == []


@pytest.mark.slow
def test_programs_that_are_long_unused_are_dropped_and_come_back_the_same(compiled, monkeypatch):
    monkeypatch.setattr(engine, "_MOST_PROGRAMS", 2)
    monkeypatch.setattr(engine, "_LEAST_PROGRAMS", 1)
    trial, task, where = problem()
    sizes = [Trial(trial.learner, 3, capacity) for capacity in (64, 128, 256)]
    with engine.Engine(in_flight=2) as one:
        first = run(one, sizes[0], task, where, last=1)
        for other in sizes[1:]:
            run(one, other, task, where, last=1)
        assert one.programs == 3 and len(one._programs) == 2
        np.testing.assert_array_equal(run(one, sizes[0], task, where, last=1), first)
        assert one.programs == 4
        run(one, sizes[2], task, where, last=1)
        assert one.programs == 4


@pytest.mark.slow
@pytest.mark.skipif(not engine._memory_maps(), reason="the system does not count memory maps")
@pytest.mark.parametrize("bound", ["_MOST_PROGRAMS", "_MOST_MAPS"])
def test_dropped_programs_give_their_memory_maps_back(monkeypatch, bound):
    """Although their traces are still at hand."""
    monkeypatch.setattr(engine, bound, 1)
    monkeypatch.setattr(engine, "_LEAST_PROGRAMS", 1)
    _, task, where = problem()
    traces, maps = [], []
    with engine.Engine(in_flight=1, devices=jax.devices()[:1]) as one:
        for capacity in (64, 128, 256, 512, 1024, 2048):
            traces.append(tiles.traced(Trial(problem()[0].learner, 3, capacity), task, where))
            list(one.tiles(traces[-1], task, where, 0, 0, traces[-1].block))
            maps.append(engine._memory_maps())
        assert len(one._programs) == 1 and one.programs == 6
    assert maps[-1] - maps[1] < maps[1] - maps[0] + 50, maps


@pytest.mark.slow
def test_memory_maps_of_others_do_not_make_devices_compile_in_turns(monkeypatch):
    monkeypatch.setattr(engine, "_MOST_MAPS", 0)
    trial, task, where = problem()
    with engine.Engine(in_flight=4) as one:
        for _ in range(2):
            for capacity in (64, 128, 256):
                run(one, Trial(trial.learner, 3, capacity), task, where, last=6)
        assert one.programs <= 3 * len(one.devices)


# --- small things ------------------------------------------------------------------------------------------------


def test_capacities_are_few_and_hardly_too_large():
    sizes = [*range(1, 3000), 4095, 4096, 4097, 8192, 8193, 2**19 + 1, 2**20]
    found = [capacity(n) for n in sizes]
    assert all(n <= c <= max(16, 4 * n) and c & (c - 1) == 0 for n, c in zip(sizes, found, strict=True))
    assert all(c < 2 * n for n, c in zip(sizes, found, strict=True) if n > 4096)
    assert found == sorted(found) and len(set(found)) <= 8
    with pytest.raises(InputError, match="at most"):
        capacity(2**20 + 1)


GPU = SimpleNamespace(platform="gpu", device_kind="H100", memory_stats=lambda: {"bytes_limit": 60 * 2**30})


@pytest.mark.parametrize("device", [None, GPU], ids=["cpu", "gpu"])
def test_tiles_are_powers_of_two_and_blocks_divide_them(device):
    learner = Independent(KLN(Thresholds(Domain(10))), 1)
    for rows, k in itertools.product((16, 100, 2**10, 2**20), (1, 3, 64, 1024)):
        size, block = tiles.tile_shape(Trial(learner, k, rows), device)
        assert 16 <= size <= 2**14 and size & (size - 1) == 0 and size % block == 0
        assert device is not None or block <= 64, "a search asks for few trials at a time"


def test_blocks_of_other_devices_grow_with_their_memory():
    trial = Trial(Independent(KLN(Thresholds(Domain(10))), 1), 1, 1024)
    small = SimpleNamespace(platform="gpu", memory_stats=lambda: {"bytes_limit": 8 * 2**30})
    silent = SimpleNamespace(platform="tpu", memory_stats=lambda: None)
    found = [tiles.tile_shape(trial, device)[1] for device in (None, silent, small, GPU)]
    assert found == sorted(found) and found[0] == 64 and found[-1] == 4096


def test_learners_of_many_passes_fill_an_accelerator_too():
    """And never more than it holds: a trial takes 4.3 MiB, with few rows too (docs/gallery/devices.md)."""
    learner, little = (
        UnionLearner(Unions(2**10, 4), 24, 7, family=Pieces(2**10)),
        GPU.memory_stats()["bytes_limit"] // 16,
    )
    assert learner.passes == 6144
    small = SimpleNamespace(platform="gpu", memory_stats=lambda: {"bytes_limit": little})

    def blocks(device):
        return [tiles.tile_shape(Trial(learner, 1, rows), device)[1] for rows in (16, 1024)]

    assert blocks(None) == [1, 1] and blocks(GPU) == [1024, 1024]
    for device in (GPU, small):
        assert 2 * max(blocks(device)) * 4.4 * 2**20 < device.memory_stats()["bytes_limit"], "two blocks at once"


@pytest.mark.grid(keep=2)
@pytest.mark.parametrize("cut", [1, 3, 7])
def test_how_trials_are_cut_into_tiles_changes_nothing(cut, machine, reference):
    """Some blocks at a time, as a search asks for them."""
    trial, task, where = problem()
    program = tiles.traced(trial, task, where)
    ends = [*range(0, TILES * program.tile, cut * program.block), TILES * program.tile]
    parts = [
        tile
        for first, last in itertools.pairwise(ends)
        for tile in machine.tiles(program, task, where, SEED, first, last)
    ]
    assert np.concatenate(parts).tolist() == np.concatenate(reference).tolist()


def test_a_program_that_does_not_fit_is_refused_with_its_size(monkeypatch, machine):
    monkeypatch.setattr(memory, "memory_of", lambda device: 2**10)
    task = fast.task()
    coin = fast.Coin(task.concepts)
    where = point(b"identity", 60, coin.plan(Privacy(1.0), Accuracy(0.2, 0.1), 60), 0.2, task)
    with pytest.raises(InputError, match=r"memory: expected at most 0 MiB.*MiB for \d+ trials at once of 512 rows"):
        run(machine, Trial(coin, 1, 512), task, where, last=1)


def test_threads_share_an_engine(reference):
    """Several at the same time get the same tiles, and the program is compiled once."""
    with engine.Engine(in_flight=4) as one, ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda _: run(one, *problem()), range(4)))
        assert found == [reference] * 4
        assert one.programs == 1 and one.trials == 4 * TILES * tiles.tile_shape(problem()[0])[0]


def test_what_is_wrong_with_an_experiment_is_said(machine):
    """An error inside a worker reaches the caller."""
    _, task, where = median_problem()
    wrong = Trial(KLN(Thresholds(Domain(1000))), 2, 32)
    with pytest.raises(InputError, match="expected KLNPlan, got IndependentPlan"):
        run(machine, wrong, task, where)
    plan = wrong.learner.plan(Privacy(1.0), Accuracy(0.1, 0.1), 30)
    with pytest.raises(InputError, match="one concept"):
        run(machine, wrong, task, replace(where, plan=plan))


def test_tiles_can_be_given_up(machine, reference):
    """Stopping after the first tile leaves the engine usable."""
    program = tiles.traced(*problem())
    for tile in machine.tiles(program, *problem()[1:], SEED, 0, 1000 * program.tile):
        assert tile.tolist() == reference[0]
        break
    assert run(machine, *problem()) == reference


def test_a_point_says_what_the_learner_is_given():
    given = PointLearner(Points(Domain(10))).plan(Privacy(0.2, 2e-12), Accuracy(0.1, 0.2))
    where = point(b"12345678", 5, given, 0.1, Task(Points(Domain(10)), make.uniform(Domain(10))))
    assert where.identity.tolist() == [0x31323334, 0x35363738] and where.identity.dtype == np.uint32
    assert where.plan is given
    # never more than what was asked for, though float32 holds neither 0.1 nor 1e-12
    half = where.plan.histogram
    assert float(half.epsilon) <= 0.1 and float(half.delta) <= 1e-12
    assert float(half.epsilon) > 0.1 * (1 - 1e-6) and float(half.delta) > 1e-12 * (1 - 1e-6)


def test_the_learner_is_part_of_the_trial():
    assert isinstance(problem()[0].learner, PointLearner)
