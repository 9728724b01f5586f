"""Workers of a Ray cluster: the one at ``RAY_ADDRESS``, the one this program is already part of, or one of our own.

Our own listens on the loopback interface only, wants a token, reports nothing to anybody, and leaves no file behind.
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

from custody.core.errors import InputError, WorldError
from custody.dupes.pool.work import WorkerLost, WorkError, WorkOutcome, attempt

T = TypeVar("T")
R = TypeVar("R")

OBJECTS_BYTES = 80 * 1024 * 1024
"""Memory for results on their way, close to the least that Ray takes; what does not fit goes to its folder."""
FOLDER_CHARACTERS_MAX = 38
"""A socket's path has at most 103 characters, of which Ray's own names below its folder take up to 65."""
SHORT_FOLDER = "/tmp"
CONNECT_SECONDS_MAX = "5"
LOCAL = "local"
"""Ray's own word for an address that is no cluster: start one."""


@contextmanager
def ray_cluster(fn: Callable[[T], R], workers: int) -> Iterator["RayCluster[T, R]"]:
    """A crew of a cluster. What the block started is gone after it; what was there before stays."""
    address = os.environ.get("RAY_ADDRESS") or LOCAL
    with _same_surroundings():
        os.environ.update(_settings() if address == LOCAL else _patience() | os.environ)
        import ray

        if ray.is_initialized():
            yield RayCluster(ray, fn, workers)
            return
        with _started(ray, workers) if address == LOCAL else _connected(ray, address):
            yield RayCluster(ray, fn, workers)


def check_installed() -> None:
    """An ``InputError`` names the extra if Ray is not installed; nothing is imported."""
    if find_spec("ray") is None:
        raise InputError("the backend 'ray' is not installed", hint="install it with: pip install 'custody[ray]'")


class RayCluster(Generic[T, R]):
    """Each item is one task, on one processor, tried once."""

    def __init__(self, ray: Any, fn: Callable[[T], R], workers: int) -> None:
        self.workers = workers
        self._ray = ray
        self._fn = ray.put(fn)
        self._attempt = ray.remote(num_cpus=1, max_retries=0)(attempt)

    def give(self, item: T) -> Any:
        """Have an item worked on by whoever is free."""
        return self._attempt.remote(self._fn, item)

    def wait(self, handles: Collection[Any]) -> Collection[Any]:
        """Those that are done, once at least one is."""
        done, _ = self._ray.wait(list(handles), num_returns=1)
        return list(done)

    def outcome(self, handle: Any, position: int, item: object) -> WorkOutcome[R]:
        """What became of an item."""
        errors = self._ray.exceptions
        try:
            outcome: WorkOutcome[R] = self._ray.get(handle)
        except errors.RayTaskError as error:
            # Only what could not be sent gets here: the function or the result.
            raise WorkError(position, item, f"{type(error.cause).__name__}: {error.cause}") from error
        except errors.RayError as error:
            raise WorkerLost(position, item, f"Ray says {type(error).__name__}") from error
        return outcome


@contextmanager
def _started(ray: Any, workers: int) -> Iterator[None]:
    folder = tempfile.mkdtemp(prefix="custody-ray-", dir=_short_folder())
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
def _connected(ray: Any, address: str) -> Iterator[None]:
    try:
        ray.init(address, logging_level="ERROR", log_to_driver=False)
    except (ConnectionError, RuntimeError, ValueError) as error:
        raise WorldError(
            f"cannot reach the Ray cluster at '{address}': {error}",
            hint="set RAY_ADDRESS to a cluster that runs, or unset it to have one started here",
        ) from error
    try:
        yield
    finally:
        ray.shutdown()


def _settings() -> dict[str, str]:
    """Ray's own switches, which it reads from the environment only, some of them when it is imported."""
    return {
        "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",  # also on Linux: no other interface than loopback
        "RAY_USAGE_STATS_ENABLED": "0",
        # Otherwise Ray would write a token into the user's home.
        "RAY_AUTH_TOKEN": os.environ.get("RAY_AUTH_TOKEN") or _token(),
    }


def _patience() -> dict[str, str]:
    """Left to itself Ray tries for many minutes to reach a cluster that is not there; what the user has set holds."""
    return {
        "RAY_NUM_REDIS_GET_RETRIES": "1",
        "RAY_gcs_rpc_server_connect_timeout_s": CONNECT_SECONDS_MAX,
        "RAY_py_gcs_connect_timeout_s": CONNECT_SECONDS_MAX,
    }


@cache  # Ray keeps the first that it sees for as long as this process lives
def _token() -> str:
    return secrets.token_hex()


def _short_folder() -> str:
    usual = tempfile.gettempdir()
    return usual if len(f"{usual}/custody-ray-12345678") <= FOLDER_CHARACTERS_MAX else SHORT_FOLDER


@contextmanager
def _same_surroundings() -> Iterator[None]:
    """Ray changes its own part of the environment, and how this process answers SIGTERM; both are put back."""
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
