"""The recipes work: their files are valid, their steps run, and none of them trusts untrusted input."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from markdown_it import MarkdownIt

from tests.builders.in_process import custody_printing
from tests.unit.docs.console import printed, steps, wrong
from tests.unit.docs.example import Shop, a_shop

ROOT = Path(__file__).resolve().parents[3]
RECIPES = (ROOT / "docs" / "recipes.md").read_text("utf-8")
HOOKS = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text("utf-8"))
EXPRESSION = "${{"
PRINTED_BY_HOOK = {
    "custody-gate": "! NEEDS REVIEW  |✓ CAN MERGE  ",
    "custody-gate-push": "! NEEDS REVIEW  ",
    "custody-cite": "CITE-UNREAD",
    "custody-verify": "^OK: ",
    "custody-trailer": "^No recorded agent wrote lines of [0-9a-f]+ staged",
}


def blocks(language: str) -> list[str]:
    """Return the page's blocks in a language."""
    found = MarkdownIt("commonmark").parse(RECIPES)
    return [block.content for block in found if block.type == "fence" and block.info == language]


def workflows() -> list[dict[Any, Any]]:
    """Return the files for GitHub's runners."""
    return [file for file in map(yaml.safe_load, blocks("yaml")) if "jobs" in file]


def steps_of(workflow: dict[Any, Any]) -> Iterator[dict[str, Any]]:
    """Yield the steps of all jobs."""
    for job in workflow["jobs"].values():
        yield from job["steps"]


def the_step(name: str) -> str:
    """Return the command of a named step."""
    return next(str(step["run"]) for file in workflows() for step in steps_of(file) if step.get("name") == name)


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Shop:
    """The repository of the documents, imported, with a remote that has its branches and its evidence."""
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    shop = a_shop(tmp_path / "shop", tmp_path / "home")
    shop.git("init", "--quiet", "--bare", "--initial-branch=main", str(tmp_path / "remote.git"))
    shop.git("remote", "add", "origin", str(tmp_path / "remote.git"))
    shop.git("push", "--quiet", "origin", "main", "discount")
    for words in (["import"], ["push", "origin"]):
        status, said = custody_printing(shop.folder, words, shop.environment())
        assert status == 0, said
    return shop


def ran(shop: Shop, folder: Path, script: str, given: str = "", **more: str) -> subprocess.CompletedProcess[str]:
    """Run a step of a recipe as runners do: stop at the first command that fails."""
    return subprocess.run(
        ["bash", "-e", "-o", "pipefail", "-c", script],
        cwd=folder,
        env=shop.environment() | more,
        input=given,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture
def runner(shop: Shop, tmp_path: Path) -> dict[str, str]:
    """Return a runner's variables, and a clone without records."""
    subprocess.run(
        ["git", "clone", "--quiet", str(tmp_path / "remote.git"), str(tmp_path / "clone")],
        env=shop.environment(),
        check=True,
    )
    return {
        "BASE": shop.git("rev-parse", "main").strip(),
        "HEAD": shop.git("rev-parse", "discount").strip(),
        "RUNNER_TEMP": str(tmp_path),
        "GITHUB_STEP_SUMMARY": str(tmp_path / "summary.md"),
    }


def test_the_steps_of_the_action_judge_with_evidence_from_the_remote(
    shop: Shop, runner: dict[str, str], tmp_path: Path
) -> None:
    taken = ran(shop, tmp_path / "clone", the_step("evidence"), **runner)
    assert "no evidence" not in taken.stdout + taken.stderr
    judged = ran(shop, tmp_path / "clone", the_step("gate"), **runner)
    assert judged.returncode == 0, judged.stderr
    assert "**custody: review**" in (tmp_path / "summary.md").read_text("utf-8")
    assert "::warning file=shop/discount.py,line=1," in judged.stdout
    assert "TRUST-SAMPLES" in (tmp_path / "custody.sarif").read_text("utf-8")
    assert runner["HEAD"] in (tmp_path / "check-run.json").read_text("utf-8")


def test_the_action_goes_on_without_evidence_and_says_what_is_missing(
    shop: Shop, runner: dict[str, str], tmp_path: Path
) -> None:
    (tmp_path / "remote.git").rename(tmp_path / "gone.git")
    taken = ran(shop, tmp_path / "clone", the_step("evidence"), **runner)
    assert taken.returncode == 0
    assert "no evidence pulled" in taken.stdout
    assert ran(shop, tmp_path / "clone", the_step("gate"), **runner).returncode == 0
    assert "ATTR-UNSEEN" in (tmp_path / "summary.md").read_text("utf-8")


def test_a_verdict_of_block_fails_the_step(shop: Shop, runner: dict[str, str], tmp_path: Path) -> None:
    clone = tmp_path / "clone"
    (clone / "custody.toml").write_text('[gate.levels]\nATTR-UNSEEN = "block"\n', encoding="utf-8")
    ran(shop, clone, "git add --all && git commit --quiet --message policy")
    strict = ran(shop, clone, "git rev-parse HEAD").stdout.strip()
    judged = ran(shop, clone, the_step("gate"), **(runner | {"BASE": strict}))
    assert judged.returncode == 1, judged.stderr


def test_a_workflow_may_do_little_and_its_actions_are_pinned() -> None:
    assert len(workflows()) == 2
    for workflow in workflows():
        assert workflow["permissions"] in ({}, {"contents": "read"})
        used = [str(step["uses"]) for step in steps_of(workflow) if "uses" in step]
        assert used
        assert [name for name in used if not name.endswith("@PIN-A-FULL-COMMIT-ID")] == []


def test_no_word_of_a_pull_request_becomes_part_of_a_command() -> None:
    scripts = [str(step["run"]) for workflow in workflows() for step in steps_of(workflow) if "run" in step]
    assert scripts
    assert [script for script in scripts if EXPRESSION in script] == []


def test_what_strangers_propose_is_judged_without_secrets_and_with_all_history() -> None:
    first, second = workflows()
    assert first[True] == "pull_request"  # YAML reads the word ``on`` as a truth value
    assert "secrets" not in str(first)
    checkout = next(step for step in steps_of(first) if str(step.get("uses")).startswith("actions/checkout"))
    assert checkout["with"] == {"fetch-depth": 0, "persist-credentials": False}
    assert [step for step in steps_of(second) if str(step.get("uses")).startswith("actions/checkout")] == []


def test_every_script_is_one_that_a_shell_reads(tmp_path: Path) -> None:
    scripts = blocks("sh") + [str(step["run"]) for file in workflows() for step in steps_of(file) if "run" in step]
    for script in scripts:
        done = subprocess.run(["bash", "-n"], input=script, capture_output=True, text=True, check=False, cwd=tmp_path)
        assert done.returncode == 0, done.stderr


def test_the_plain_hook_judges_what_is_pushed(shop: Shop) -> None:
    (script,) = (block for block in blocks("sh") if block.startswith("#!/bin/sh"))
    base, head = shop.git("rev-parse", "main").strip(), shop.git("rev-parse", "discount").strip()
    zero = "0" * len(head)
    judged = ran(shop, shop.folder, script, f"refs/heads/discount {head} refs/heads/discount {base}\n")
    assert judged.stdout.startswith("! NEEDS REVIEW  ")
    removed = ran(shop, shop.folder, script, f"(delete) {zero} refs/heads/discount {head}\n")
    assert (removed.returncode, removed.stdout) == (0, "")
    shop.git("remote", "set-head", "origin", "main")
    new = ran(shop, shop.folder, script, f"refs/heads/discount {head} refs/heads/discount {zero}\n")
    assert new.stdout.startswith("! NEEDS REVIEW  ")


def test_the_page_uses_hooks_that_are_offered() -> None:
    config = next(file for file in map(yaml.safe_load, blocks("yaml")) if "repos" in file)
    used = {hook["id"] for repo in config["repos"] for hook in repo["hooks"]}
    assert used == {hook["id"] for hook in HOOKS}


@pytest.mark.parametrize("hook", HOOKS, ids=lambda hook: str(hook["id"]))
def test_an_offered_hook_runs(hook: dict[str, Any], shop: Shop) -> None:
    names = " shop/rounding.md" if hook.get("pass_filenames", True) else ""
    ends = {"PRE_COMMIT_FROM_REF": "main", "PRE_COMMIT_TO_REF": "discount"}
    done = ran(shop, shop.folder, hook["entry"] + names, **ends)
    assert done.returncode == (1 if hook["id"] == "custody-cite" else 0), done.stderr
    assert re.search(PRINTED_BY_HOOK[hook["id"]], done.stdout)


def test_the_hook_before_a_push_does_not_fail_on_an_empty_remote(shop: Shop) -> None:
    entry = next(hook["entry"] for hook in HOOKS if hook["id"] == "custody-gate-push")
    done = ran(shop, shop.folder, entry)
    assert (done.returncode, done.stdout) == (0, "not judged, the remote is empty\n")


def test_what_the_page_types_is_printed(shop: Shop) -> None:
    for step in steps(RECIPES):
        assert wrong(step, printed(step, shop.folder, shop.environment())) is None
