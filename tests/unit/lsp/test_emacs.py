"""The shipped configuration of Emacs in a real Emacs, without a window: ``C-c w``, and eglot where it is installed."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.builders.lsp import AGENTS_LINE, a_long_file
from tests.house.not_run import WORDS

CONFIGURATION = Path(__file__).parents[3] / "editors" / "emacs" / "custody.el"
WHY = """
(defun shown () (with-current-buffer "*custody*" (buffer-string)))
(find-file "app.py")
(forward-line (1- agents-line))
(custody-why)
(princ (concat "== saved\n" (shown)))
(goto-char (point-min))
(insert "-- typed é\n")
(forward-line (1- agents-line))
(narrow-to-region (point) (line-end-position))
(custody-why)
(princ (concat "== unsaved\n" (shown)))
(princ (format "== modified\n%s\n" (buffer-modified-p)))
"""
EGLOT = """
(package-initialize)
(setq eglot-sync-connect 60 eglot-connect-timeout 60)
(custody-eglot-setup '(text-mode))
(find-file "app.py")
(text-mode)
(apply #'eglot (eglot--guess-contact))
(defun hover (line)
  (goto-char (point-min))
  (forward-line (1- line))
  (let ((found (jsonrpc-request (eglot-current-server) :textDocument/hover (eglot--TextDocumentPositionParams))))
    (substring-no-properties (eglot--hover-info (plist-get found :contents) nil))))
(princ (concat "== saved\n" (hover agents-line)))
(goto-char (point-min))
(insert "-- typed é\n")
(eglot--signal-textDocument/didChange)
(princ (concat "\n== unsaved\n" (hover (1+ agents-line))))
(princ (format "\n== modified\n%s\n" (buffer-modified-p)))
(set-buffer-modified-p nil)
(eglot-shutdown (eglot-current-server))
"""


def run_emacs(folder: Path, script: str) -> dict[str, str]:
    """Return what a script prints in a real Emacs with our configuration, by its headings."""
    program = shutil.which("emacs")
    if program is None:
        pytest.skip(f"{WORDS}: Emacs cannot be had here (install the package emacs-nox)")
    root, after = a_long_file(folder / "repository")
    command = folder / "custody"
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m custody "$@"\n')
    command.chmod(0o755)
    prelude = f"""
(load "{CONFIGURATION}" nil t)
(setq custody-command "{command}")
(defconst agents-line {AGENTS_LINE})
(set-language-environment "UTF-8")
"""
    driver = folder / "drive.el"
    driver.write_text(prelude + script, encoding="utf-8")
    home = folder / "home"
    home.mkdir()
    ran = subprocess.run(
        [program, "--batch", "-l", str(driver)],
        cwd=root,
        env={**os.environ, "HOME": str(home)},
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    assert (root / "app.py").read_text() == after
    return dict(part.split("\n", 1) for part in ran.stdout.split("== ")[1:])


def check_answers(shown: dict[str, str]) -> None:
    """Check that the line of the agent was explained where it was, and in the buffer that is not saved."""
    assert "“add a discount”" in shown["saved"]
    assert "“add a discount”" in shown["unsaved"]
    assert "not committed" not in shown["unsaved"]
    assert shown["modified"].strip() == "t"


def test_emacs_shows_why_a_line_is_there_in_a_narrowed_unsaved_buffer(tmp_path: Path) -> None:
    check_answers(run_emacs(tmp_path, WHY))


def test_eglot_shows_hovers_of_a_long_unsaved_file(tmp_path: Path) -> None:
    program = shutil.which("emacs")
    found = program and subprocess.run(
        [program, "--batch", "--eval", "(progn (package-initialize) (princ (require 'eglot nil t)))"],
        capture_output=True,
        check=False,
    )
    if not found or found.stdout != b"eglot":
        pytest.skip(f"{WORDS}: eglot cannot be had here (install Emacs 29, or the package elpa-eglot)")
    check_answers(run_emacs(tmp_path, EGLOT))
