"""Packages import what they export when it is first used."""

import subprocess
import sys
from importlib import import_module

import pytest

PACKAGES = ("attribution", "capture", "cite", "config", "dupes", "git", "graph", "store", "trust")


def test_every_exported_name_is_there() -> None:
    for package in PACKAGES:
        module = import_module(f"custody.{package}")
        assert [name for name in module.__all__ if getattr(module, name, None) is None] == [], package


def test_other_names_are_not() -> None:
    with pytest.raises(AttributeError, match=r"module 'custody\.git' has no attribute 'Repo'"):
        import_module("custody.git").Repo  # noqa: B018 - looking it up is the test


def test_entering_a_package_imports_none_of_its_modules() -> None:
    for package in PACKAGES:
        code = f"import sys, custody.{package}; print(sum(m.startswith('custody.{package}.') for m in sys.modules))"
        found = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
        assert found.stdout == b"0\n", package
