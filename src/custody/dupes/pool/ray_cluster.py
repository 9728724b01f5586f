"""Workers of a Ray cluster: that of ``RAY_ADDRESS``, that of this program, or a new local cluster.

A local cluster listens on the loopback interface only, needs a token, reports no usage, and leaves no files.
"""

import os
import secrets
import shutil
import signal
import tempfile
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from functools import cache
from importlib.util import find_spec
from typing import Any, Generic, TypeVar

from custody.core.errors import MissingExtra, WorldError
from custody.dupes.pool.work import WorkerLost, WorkError, WorkOutcome, attempt_work_item

T = TypeVar("T")
R = TypeVar("R")

OBJECTS_BYTES = 80 * 1024 * 1024
"""Memory for results in transit, close to Ray's minimum; the rest goes to its folder."""
FOLDER_CHARACTERS_MAX = 38
"""A socket path has at most 103 characters; Ray's own names take up to 65."""
SHORT_FOLDER = "/tmp"
CONNECT_SECONDS_MAX = "5"
LOCAL = "local"
"""Ray's address for starting a new cluster."""


@contextmanager
def open_ray_cluster(fn: Callable[[T], R], workers: int) -> Iterator["RayCluster[T, R]"]:
    """Yield a pool on a cluster; a cluster that the block started ends with it."""
    address = os.environ.get("RAY_ADDRESS") or LOCAL
    with _restore_ray_environment():
        os.environ.update(_make_ray_settings() if address == LOCAL else _make_ray_timeouts() | os.environ)
        import ray

        if ray.is_initialized():
            yield RayCluster(ray, fn, workers)
            return
        with _start_ray_cluster(ray, workers) if address == LOCAL else _connect_ray_cluster(ray, address):
            yield RayCluster(ray, fn, workers)


def check_ray_installed() -> None:
    """Raise ``InputError`` if Ray is not installed; imports nothing."""
    if find_spec("ray") is None:
        raise MissingExtra("ray", "ray")


class RayCluster(Generic[T, R]):
    """A pool on a Ray cluster: each item is a task on one processor, tried once."""

    def __init__(self, ray: Any, fn: Callable[[T], R], workers: int) -> None:
        self.workers = workers
        self._ray = ray
        self._fn = ray.put(fn)
        self._attempt = ray.remote(num_cpus=1, max_retries=0)(attempt_work_item)

    def submit(self, item: T) -> Any:
        """Submit an item to a free worker."""
        return self._attempt.remote(self._fn, item)

    def wait(self, handles: Collection[Any]) -> Collection[Any]:
        """Return the finished handles, once there is at least one."""
        done, _ = self._ray.wait(list(handles), num_returns=1)
        return list(done)

    def outcome(self, handle: Any, position: int, item: object) -> WorkOutcome[R]:
        """Return the outcome of a finished item."""
        errors = self._ray.exceptions
        try:
            outcome: WorkOutcome[R] = self._ray.get(handle)
        except errors.RayTaskError as error:
            # Only a function or result that cannot be pickled gets here.
            raise WorkError(position, item, f"{type(error.cause).__name__}: {error.cause}") from error
        except errors.RayError as error:
            raise WorkerLost(position, item, f"Ray reports {type(error).__name__}") from error
        return outcome


@contextmanager
def _start_ray_cluster(ray: Any, workers: int) -> Iterator[None]:
    folder = tempfile.mkdtemp(prefix="custody-ray-", dir=_choose_ray_folder())
    try:
        ray.init(
            LOCAL,
            num_cpus=workers,
            include_dashboard=False,
            object_store_memory=OBJECTS_BYTES,
            logging_level="ERROR",
            log_to_driver=False,
            _temp_dir=folder,
        )
        yield
    finally:
        ray.shutdown()
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def _connect_ray_cluster(ray: Any, address: str) -> Iterator[None]:
    try:
        ray.init(address, logging_level="ERROR", log_to_driver=False)
    except (ConnectionError, RuntimeError, ValueError) as error:
        raise WorldError(
            f"cannot reach the Ray cluster at '{address}': {error}",
            hint="set RAY_ADDRESS to a running cluster, or unset it to start a local one",
        ) from error
    try:
        yield
    finally:
        ray.shutdown()


def _make_ray_settings() -> dict[str, str]:
    """Return Ray's settings; it reads them from the environment only, some of them on import."""
    return {
        "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",  # loopback only, also on Linux
        "RAY_USAGE_STATS_ENABLED": "0",
        # Otherwise Ray would write a token into the user's home.
        "RAY_AUTH_TOKEN": os.environ.get("RAY_AUTH_TOKEN") or _make_ray_token(),
    }


def _make_ray_timeouts() -> dict[str, str]:
    """Return shorter timeouts: by default, Ray tries for many minutes to reach a missing cluster."""
    return {
        "RAY_NUM_REDIS_GET_RETRIES": "1",
        "RAY_gcs_rpc_server_connect_timeout_s": CONNECT_SECONDS_MAX,
        "RAY_py_gcs_connect_timeout_s": CONNECT_SECONDS_MAX,
    }


@cache  # Ray keeps the first token for the life of the process
def _make_ray_token() -> str:
    return secrets.token_hex()


def _choose_ray_folder() -> str:
    folder = tempfile.gettempdir()
    return folder if len(f"{folder}/custody-ray-12345678") <= FOLDER_CHARACTERS_MAX else SHORT_FOLDER


@contextmanager
def _restore_ray_environment() -> Iterator[None]:
    """Restore Ray's environment variables and the handler of SIGTERM after the block; Ray changes both."""
    before = {name: value for name, value in os.environ.items() if name.startswith("RAY_")}
    on_terminate = signal.getsignal(signal.SIGTERM)
    try:
        yield
    finally:
        for name in [name for name in os.environ if name.startswith("RAY_")]:
            del os.environ[name]
        os.environ.update(before)
        if signal.getsignal(signal.SIGTERM) is not on_terminate:
            signal.signal(signal.SIGTERM, on_terminate)
