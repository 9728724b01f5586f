"""A test whose surroundings cannot be had here says NOT RUN; in CI it fails, so that nothing is skipped there."""

import os
from typing import NoReturn

import pytest

WORDS = "NOT RUN"


class CannotBeHad(Exception):
    """Something a test needs is not on this machine; the message says why."""


def not_run(what: str, why: object) -> NoReturn:
    """End this test as NOT RUN (fail it in CI): ``what`` it needs cannot be had, because of ``why``."""
    if in_ci():
        pytest.fail(f"{what} cannot be had ({why}), and in CI every test runs", pytrace=False)
    pytest.skip(f"{WORDS}: {what} cannot be had here ({why})")


def in_ci() -> bool:
    """Whether this is the run that decides."""
    return os.environ.get("CI", "").lower() not in ("", "0", "false", "no")


def is_not_run(report: pytest.TestReport) -> bool:
    """Whether ``report`` is of a test ended by ``not_run``."""
    return report.skipped and WORDS in _said(report)


def reason(report: pytest.TestReport) -> str:
    """What could not be had, and why."""
    return _said(report).partition(f"{WORDS}: ")[2]


def _said(report: pytest.TestReport) -> str:
    return str(report.longrepr[2]) if isinstance(report.longrepr, tuple) else ""
