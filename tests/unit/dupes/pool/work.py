"""Importable functions for the workers of a pool."""

import os
import signal
import time
from pathlib import Path

from custody.core.errors import GitError, InputError, RulesError
from custody.sketch.minhash import compute_minhash
from custody.sketch.tokens import mask_literals, shingle_tokens, tokenize_text
from custody.sketch.winnow import winnow_fingerprints


def squared(number: int) -> int:
    return number * number


def where(number: int) -> tuple[int, int]:
    """Return the item and the process that worked on it."""
    return number, os.getpid()


def meet(folder: str) -> int:
    """Return the process, once a second process works, too."""
    Path(folder, str(os.getpid())).touch()
    until = time.monotonic() + 60
    while len(os.listdir(folder)) < 2 and time.monotonic() < until:
        time.sleep(0.01)
    return os.getpid()


def sketched(text: str) -> tuple[bytes | None, tuple[int, ...]]:
    """Return the MinHash and the fingerprints of a text."""
    tokens = mask_literals(tokenize_text(text))
    return compute_minhash(shingle_tokens(tokens, 5), 128), winnow_fingerprints(tokenize_text(text), 5, 4)


def no_threes(number: int) -> int:
    if number == 3:
        raise ValueError("three is not to be had")
    return number


def refuses_threes(number: int) -> int:
    if number == 3:
        raise InputError("three is too many", hint="take two")
    return number


def breaks_a_rule(number: int) -> int:
    """Raise one of our errors that cannot be pickled."""
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
    """Write the process id as a file into a folder, and pause if the task says so."""
    folder, stays = task
    Path(folder, str(os.getpid())).touch()
    if stays:
        signal.pause()
