"""Functions for workers to do: each is importable, as the pool wants it."""

import os
import signal
import time
from pathlib import Path

from custody.core.errors import GitError, InputError, RulesError
from custody.sketch.minhash import minhash_of
from custody.sketch.tokens import mask_literals, shingles_of, tokens_of
from custody.sketch.winnow import fingerprints_of


def squared(number: int) -> int:
    return number * number


def where(number: int) -> tuple[int, int]:
    """The item, and the process that worked on it."""
    return number, os.getpid()


def meet(folder: str) -> int:
    """The process that worked on the item, once another one works on an item too."""
    Path(folder, str(os.getpid())).touch()
    until = time.monotonic() + 60
    while len(os.listdir(folder)) < 2 and time.monotonic() < until:
        time.sleep(0.01)
    return os.getpid()


def sketched(text: str) -> tuple[bytes | None, tuple[int, ...]]:
    """What duplicate search keeps of a text: its signature and its fingerprints."""
    tokens = mask_literals(tokens_of(text))
    return minhash_of(shingles_of(tokens, 5), 128), fingerprints_of(tokens_of(text), 5, 4)


def no_threes(number: int) -> int:
    if number == 3:
        raise ValueError("three is not to be had")
    return number


def refuses_threes(number: int) -> int:
    if number == 3:
        raise InputError("three is too many", hint="take two")
    return number


def breaks_a_rule(number: int) -> int:
    """Raise an error of ours that would not survive the way between processes by itself."""
    raise RulesError("dedupe.number", f"is {number}")


def loses_git(number: int) -> int:
    raise GitError(f"git is gone at {number}")


def dies_of_threes(number: int) -> int:
    if number == 3:
        os.kill(os.getpid(), signal.SIGKILL)
    return number


def leaves_at_three(number: int) -> int:
    if number == 3:
        os._exit(0)
    return number


def gives_what_cannot_be_sent(number: int) -> object:
    return lambda: number


def tells(task: tuple[str, bool]) -> None:
    """Leave the process's number in a file of a folder, and if told so never come back."""
    folder, stays = task
    Path(folder, str(os.getpid())).touch()
    if stays:
        signal.pause()
