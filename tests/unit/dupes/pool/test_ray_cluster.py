"""The same map on a real Ray cluster of two workers, started once for this file."""

import os
import pickle
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest

from custody.core.errors import InputError
from custody.dupes.app.change_reader import ChangeRef, UnreadableChange
from custody.dupes.app.index import sketch_changes
from custody.dupes.pool import WorkerLost, WorkError, pool_map
from custody.dupes.pool.ray_cluster import FOLDER_CHARACTERS_MAX
from custody.dupes.rules import DedupeRules
from custody.git import discover_repository
from tests.builders.repo import a_history, a_repository
from tests.house.not_run import not_run
from tests.house.planting import ROOT
from tests.unit.dupes.pool import work

TEXTS = tuple(file.read_text() for file in sorted((ROOT / "src/custody/core").glob("*.py")))
"""About 40 kB of real code."""


@pytest.fixture(scope="module")
def _ray() -> Iterator[None]:
    """Start a cluster by a map; other maps use it until that map ends."""
    before = surroundings()
    try:
        results = pool_map(work.sketched, TEXTS, workers=2, backend="ray")
        found = [next(results)]
    except (InputError, ImportError) as error:
        not_run("Ray", error)
    yield
    import ray

    assert ray.is_initialized()
    found.extend(results)
    assert found == list(map(work.sketched, TEXTS))
    assert not ray.is_initialized()
    assert surroundings() == before
    assert not children()


def surroundings() -> tuple[object, ...]:
    """Return what Ray may change: environment variables, the handler of SIGTERM, folders."""
    names = sorted(name for name in os.environ if name.startswith("RAY_"))
    return names, signal.getsignal(signal.SIGTERM), folders(), Path("~/.ray").expanduser().exists()


def folders() -> list[Path]:
    """Return the Ray folders of this process; Ray puts the process id into their names."""
    return sorted(Path(tempfile.gettempdir()).glob(f"custody-ray-*/session_*_{os.getpid()}"))


def children() -> list[str]:
    """Return the running Ray processes that we started."""
    command = ["ps", "-A", "-o", "ppid=,args="]
    listed = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    return [line for line in listed if line.split()[0] == str(os.getpid()) and "/ray/" in line]


@pytest.mark.usefixtures("_ray")
def test_a_cluster_returns_the_same_bytes_as_one_process() -> None:
    alone = list(pool_map(work.sketched, TEXTS, workers=1))
    assert len(alone) == len(TEXTS) > 4
    counts: list[int] = []
    together = list(pool_map(work.sketched, TEXTS, workers=2, backend="ray", progress=counts.append))
    assert [pickle.dumps(result) for result in together] == [pickle.dumps(result) for result in alone]
    assert counts == list(range(1, len(alone) + 1))


@pytest.mark.usefixtures("_ray")
def test_a_cluster_sketches_changes_equally(tmp_path: Path) -> None:
    built = a_repository(tmp_path)
    rules, names = DedupeRules(), ["a.py", "b.ts", "README.md", "broken.py", "data.bin"]
    versions = [{f"src/{name}".encode(): _content(name, number) for name in names} for number in range(40)]
    commits = a_history(built, *versions)
    refs = [ChangeRef(base=base, head=head) for base, head in pairwise(commits)]
    folder = str(discover_repository(built.path).git_dir)
    alone = list(sketch_changes(folder, refs, rules, workers=1))
    together = list(sketch_changes(folder, refs, rules, workers=2, backend="ray"))
    assert len(alone) == len(refs) and not any(isinstance(change, UnreadableChange) for change in alone)
    assert [pickle.dumps(change) for change in together] == [pickle.dumps(change) for change in alone]


def _content(name: str, number: int) -> bytes:
    """Return a file in the ``number``-th version: valid text, invalid text, or bytes."""
    text = TEXTS[number % len(TEXTS)]
    if name.endswith(".bin"):
        return bytes(range(256)) * (number + 1)
    return f"def broken(:\n{text}".encode() if name == "broken.py" else f"{text}\nvalue_{number} = {number}\n".encode()


@pytest.mark.usefixtures("_ray")
def test_two_workers_do_all_the_work(tmp_path: Path) -> None:
    processes = set(pool_map(work.meet, [str(tmp_path)] * 4, workers=2, backend="ray"))
    assert os.getpid() not in processes
    assert len(processes) == 2


@pytest.mark.usefixtures("_ray")
def test_failures_match_those_of_processes() -> None:
    found: list[int] = []
    with pytest.raises(WorkError, match="cannot process item 4, 3: ValueError: three is not to be had"):
        found.extend(pool_map(work.no_threes, range(9), workers=2, backend="ray"))
    with pytest.raises(InputError, match="cannot process item 4, 3: three is too many"):
        found.extend(pool_map(work.refuses_threes, range(9), workers=2, backend="ray"))
    with pytest.raises(WorkerLost, match="a worker died on item 4, 3: Ray reports WorkerCrashedError"):
        found.extend(pool_map(work.dies_of_threes, range(9), workers=2, backend="ray"))
    assert found == [0, 1, 2] * 3


@pytest.mark.usefixtures("_ray")
def test_the_cluster_is_local_and_needs_its_token() -> None:
    import ray

    assert ray.util.get_node_ip_address() == "127.0.0.1"
    assert os.environ["RAY_AUTH_TOKEN"] and os.environ["RAY_AUTH_MODE"] == "token"
    assert os.environ["RAY_USAGE_STATS_ENABLED"] == "0"
    (folder,) = folders()
    assert len(str(folder.parent)) <= FOLDER_CHARACTERS_MAX
    assert len(children()) > 1


@pytest.mark.usefixtures("_ray")
def test_one_worker_is_this_process() -> None:
    assert {process for _, process in pool_map(work.where, range(3), workers=1, backend="ray")} == {os.getpid()}


PROGRAM = """
from custody.dupes.pool import pool_map
from tests.unit.dupes.pool import work
print(list(pool_map(work.squared, range(5), workers=2, backend="ray")))
"""


def elsewhere(address: str, **settings: str) -> subprocess.CompletedProcess[str]:
    """Run the map in another program with ``RAY_ADDRESS``."""
    named = os.environ | {"RAY_ADDRESS": address} | settings
    return subprocess.run(
        [sys.executable, "-c", PROGRAM], env=named, cwd=ROOT, capture_output=True, text=True, check=False
    )


@pytest.mark.slow
@pytest.mark.usefixtures("_ray")
def test_a_named_cluster_is_used_and_left_running() -> None:
    import ray

    done = elsewhere(ray.get_runtime_context().gcs_address)
    assert (done.stdout, done.stderr) == ("[0, 1, 4, 9, 16]\n", "")
    assert list(pool_map(work.squared, range(5), workers=2, backend="ray")) == [0, 1, 4, 9, 16]


@pytest.mark.slow
@pytest.mark.usefixtures("_ray")
def test_a_missing_cluster_is_a_world_error() -> None:
    done = elsewhere("127.0.0.1:1", RAY_gcs_rpc_server_connect_timeout_s="1", RAY_py_gcs_connect_timeout_s="1")
    assert "WorldError: cannot reach the Ray cluster at '127.0.0.1:1'" in done.stderr
