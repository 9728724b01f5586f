"""A test with a missing requirement reports NOT RUN; in CI it fails, so that nothing is skipped there."""

import os
from typing import NoReturn

import pytest

WORDS = "NOT RUN"


class CannotBeHad(Exception):
    """A requirement of a test is missing on this machine; the message is the reason."""


def not_run(what: str, why: object) -> NoReturn:
    """End this test as NOT RUN (fail it in CI): ``what`` it needs is missing, because of ``why``."""
    if in_ci():
        pytest.fail(f"{what} cannot be had ({why}), and in CI every test runs", pytrace=False)
    pytest.skip(f"{WORDS}: {what} cannot be had here ({why})")


def in_ci() -> bool:
    """Return whether this is the CI run."""
    return os.environ.get("CI", "").lower() not in ("", "0", "false", "no")


def is_not_run(report: pytest.TestReport) -> bool:
    """Return whether ``not_run`` ended the test of ``report``."""
    return report.skipped and WORDS in _said(report)


def reason(report: pytest.TestReport) -> str:
    """Return the missing requirement and the reason."""
    return _said(report).partition(f"{WORDS}: ")[2]


def _said(report: pytest.TestReport) -> str:
    return str(report.longrepr[2]) if isinstance(report.longrepr, tuple) else ""
