"""What numbers depend on is part of their identity; memory is planned; programs are compiled once for all."""

import json
import os
import subprocess
import sys
import threading
import time
from pathlib import Path
from types import SimpleNamespace

import jax
import jax.numpy as jnp
import pytest

from dpjax.core.checks import InputError
from dpjax.experiments.run import compile_cache, device, loading, memory
from dpjax.experiments.run.engine import Engine
from dpjax.experiments.run.memory import DeviceMemory
from tests.experiments import fast

CPU = SimpleNamespace(platform="cpu", device_kind="cpu")
SETTINGS = (
    "jax_compilation_cache_dir",
    "jax_persistent_cache_min_compile_time_secs",
    "jax_persistent_cache_min_entry_size_bytes",
)
GPU = SimpleNamespace(platform="gpu", device_kind="H100")
pytestmark = pytest.mark.optimized  # flags and settings are those of users


@pytest.fixture(autouse=True)
def plain(monkeypatch):
    monkeypatch.setenv("XLA_FLAGS", "")


def test_the_version_of_cuda_counts(monkeypatch):
    monkeypatch.setattr(GPU, "client", SimpleNamespace(platform_version="PJRT C API\ncuda 12080"), raising=False)
    assert device.identity_of(GPU) == "gpu:H100:PJRT C API cuda 12080"


def test_flags_in_a_file_and_settings_count_too(monkeypatch, tmp_path):
    (tmp_path / "flags").write_text("--xla_gpu_deterministic_ops=true\n--xla_dump_to=/tmp")
    monkeypatch.setenv("XLA_FLAGS", str(tmp_path / "flags"))
    monkeypatch.setenv("NVIDIA_TF32_OVERRIDE", "0")
    jax.config.update("jax_disable_most_optimizations", True)
    try:
        found = device.flags()
    finally:
        jax.config.update("jax_disable_most_optimizations", False)  # as the marker has it
    assert found == ["NVIDIA_TF32_OVERRIDE=0", "jax_disable_most_optimizations=True", "xla_gpu_deterministic_ops=true"]
    monkeypatch.delenv("NVIDIA_TF32_OVERRIDE")
    monkeypatch.setenv("XLA_FLAGS", str(tmp_path / "none"))
    assert device.flags() == []


def test_flags_that_change_numbers_are_part_of_the_identity(monkeypatch):
    before = device.identity_of(CPU)
    assert before.startswith("cpu:cpu:")
    harmless = (
        "--xla_force_host_platform_device_count=8 --xla_dump_to=/x --xla_cpu_parallel_codegen_split_count=1 "
        "--xla_gpu_enable_command_buffer=+WHILE,+CONDITIONAL"
    )
    monkeypatch.setenv("XLA_FLAGS", harmless)
    assert device.identity_of(CPU) == before
    monkeypatch.setenv("XLA_FLAGS", f"{harmless} --xla_cpu_max_isa=SSE4_2 --xla_cpu_enable_fast_math=true")
    assert device.identity_of(CPU) == f"{before} xla_cpu_enable_fast_math=true xla_cpu_max_isa=SSE4_2"
    monkeypatch.setenv("XLA_FLAGS", "")
    both = [
        device.identity_of(CPU)
        for words in ("f=1 --f=0", "f=0 --f=1", "f=0")
        if not monkeypatch.setenv("XLA_FLAGS", f"--{words}")
    ]
    assert both[0] != both[1] and both[0] == both[2], "of a flag that is given twice the last one counts"
    monkeypatch.setenv("XLA_FLAGS", "")
    with jax.default_matmul_precision("float32"):
        assert device.identity_of(CPU) != before


def test_instructions_count_on_a_cpu_only(monkeypatch):
    monkeypatch.setattr(device, "processor", lambda: "model flags fma avx2")
    monkeypatch.setattr(device.platform, "machine", lambda: "x86_64")
    fused = device.identity_of(CPU)
    monkeypatch.setattr(device, "processor", lambda: "model flags sse4_2")
    assert fused == "cpu:cpu:x86_64+fma" and device.identity_of(CPU) == "cpu:cpu:x86_64"
    assert device.identity_of(GPU) == "gpu:H100"


def test_memory(monkeypatch):
    assert device.memory_of(CPU) > 2**26
    assert device.memory_of(SimpleNamespace(platform="gpu", memory_stats=lambda: {"bytes_limit": 7})) == 7
    assert device.memory_of(SimpleNamespace(platform="tpu", memory_stats=lambda: None)) is None


def test_programs_that_do_not_fit_together_run_one_after_the_other(monkeypatch):
    monkeypatch.setattr(memory, "memory_of", lambda device: 100)
    trial = SimpleNamespace(capacity=64, k=2)
    program, here = SimpleNamespace(trial=trial, block=16), DeviceMemory()
    here.require(60, CPU, program)
    with pytest.raises(InputError, match="16 trials at once of 64 rows and 2 concepts"):
        here.require(101, CPU, program)
    most, now, lock = [0], [0], threading.Lock()

    def use(need):
        with here.taken(need):
            with lock:
                now[0] += need
                most[0] = max(most[0], now[0])
            time.sleep(0.01)
            with lock:
                now[0] -= need

    threads = [threading.Thread(target=use, args=(need,)) for need in (60, 30, 60, 30, 100, 10)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert 60 <= most[0] <= 100


def test_where_compiled_programs_are_kept(monkeypatch, tmp_path):
    before = {name: getattr(jax.config, name) for name in SETTINGS}
    try:
        assert compile_cache.use_compile_cache() == Path(before["jax_compilation_cache_dir"]), "JAX has one already"
        jax.config.update("jax_compilation_cache_dir", None)
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
        users = compile_cache.use_compile_cache()
        assert users.parent == tmp_path / "dpjax" / "programs" and users.stat().st_mode & 0o77 == 0
        monkeypatch.setenv("XLA_FLAGS", "--xla_cpu_max_isa=SSE4_2")
        given = compile_cache.use_compile_cache(tmp_path / "given")
        assert given.parent == tmp_path / "given" and given.name != users.name
        monkeypatch.setenv("DPJAX_COMPILE_CACHE", "off")
        assert compile_cache.use_compile_cache() is None and jax.config.jax_compilation_cache_dir is None
        (tmp_path / "file").touch()
        assert compile_cache.use_compile_cache(tmp_path / "file") is None
    finally:
        for name, value in before.items():
            jax.config.update(name, value)


def test_a_cache_that_others_may_write_to_is_not_read(tmp_path):
    """Neither JAX's entries nor dpjax's are unpickled, and the cache is off from then on; a warning says so once."""
    before = {name: getattr(jax.config, name) for name in SETTINGS}
    folder = tmp_path / "shared"
    folder.mkdir()
    program = jax.jit(lambda x: x * 3 + len("a program of its own"))
    try:
        for mode, whole in ((0o700, True), (0o777, False)):
            folder.chmod(mode)
            jax.config.update("jax_compilation_cache_dir", str(folder))
            found = loading.Loader("name", lambda device: program.lower(jnp.float32(1)).compile(), (jnp.float32(1),))
            if whole:
                assert found.on(jax.devices()[0])[1] and list((folder / "tiles").iterdir())
                continue
            with pytest.warns(UserWarning, match=f"others may write to {folder}"):
                assert found.on(jax.devices()[0])[1], "it is compiled"
            assert jax.config.jax_compilation_cache_dir is None and compile_cache.require_private() is None
        with pytest.warns(UserWarning, match="others may write"):
            assert compile_cache.use_compile_cache(folder) is None
    finally:
        for name, value in before.items():
            jax.config.update(name, value)


def test_a_program_that_others_may_write_to_is_not_read(tmp_path):
    loading._write(tmp_path / "program", b"code")
    assert loading._read(tmp_path / "program") == b"code"
    (tmp_path / "program").chmod(0o666)
    assert loading._read(tmp_path / "program") is None and not (tmp_path / "program").exists()


def test_the_oldest_programs_go_first(monkeypatch, tmp_path):
    monkeypatch.setattr(compile_cache, "_MOST_BYTES", 1000)
    for age in range(6):
        (tmp_path / f"{age}").write_bytes(bytes(200))
        os.utime(tmp_path / f"{age}", (10**9 - age,) * 2)
    (tmp_path / "tiles").mkdir()
    (tmp_path / "3").rename(tmp_path / "tiles" / "3")
    compile_cache._trim(tmp_path)
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["0", "1", "tiles"], "also those of tiles"


RUN = """
import json, sys
from pathlib import Path
from dpjax.experiments.run.engine import Engine, host_devices
host_devices(8)
from tests.experiments import fast
with Engine() as machine:
    fast.study(40, trials=256).run(sys.argv[1], engine=machine, quiet=True)
    print(json.dumps([machine.programs, machine.compiled, list(machine.tiles_of.values())]))
"""


def test_eight_devices_share_forty_cells_and_their_programs(tmp_path):
    """Every device within a fifth of the mean number of tiles; a program is compiled once; the bytes are those here."""
    cache = {"JAX_COMPILATION_CACHE_DIR": str(tmp_path / "cache"), "PYTHONPATH": str(Path(__file__).parents[3])}
    words = [sys.executable, "-c", RUN, str(tmp_path / "eight")]
    done = subprocess.run(words, capture_output=True, text=True, env=os.environ | cache)
    assert done.returncode == 0, done.stderr[-3000:]
    programs, compiled, tiles = json.loads(done.stdout.splitlines()[-1])
    mean = sum(tiles) / len(tiles)
    assert len(tiles) == 8 and all(abs(one - mean) <= 0.2 * mean for one in tiles), tiles
    assert compiled == programs == 2, "for up to 16 rows, and for up to 64"
    with Engine() as machine:
        fast.study(40, trials=256).run(tmp_path / "here", engine=machine, quiet=True)
    cells = [
        {path.name: path.read_bytes() for path in (tmp_path / name).glob("cells/*/*")} for name in ("eight", "here")
    ]
    assert cells[0] == cells[1] and len(cells[0]) == 40


def test_a_broken_file_is_no_program(tmp_path):
    loading._write(tmp_path / "program", b"code of a program")
    (tmp_path / "program").write_bytes((tmp_path / "program").read_bytes()[:-7])
    assert loading._read(tmp_path / "program") is None
