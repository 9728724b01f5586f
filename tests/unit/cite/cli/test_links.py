"""``custody cite check-links`` as a user runs it, with a real server on loopback."""

import json
import os
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import click
import pytest
from click.testing import CliRunner, Result

from custody.cite.app import links as cite_links
from custody.cite.links import LinkOutcome
from custody.cite.rules import CiteRules
from custody.cite.web import LinkChecker, create_link_client, run_link_checks
from custody.cli.main import cli
from tests.builders.cli import a_git_folder
from tests.builders.in_process import custody
from tests.builders.web import HANG, Page, Web, a_web, names, said

PAGES: dict[str, Page] = {"/1": said(200), "/2": said(301, "Location: /1"), "/3": said(404), "/4": said(401)}


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """Four sources; the last has no public address."""
    folder = a_git_folder(tmp_path / "repository")
    for url in (*(f"http://h{n}.example.net/{n}" for n in range(1, 4)), "http://192.168.0.1/router"):
        assert CliRunner().invoke(cli, ["-C", str(folder), "cite", "add", url], standalone_mode=False).exception is None
    return folder


@pytest.fixture
def web(monkeypatch: pytest.MonkeyPatch) -> Iterator[Web]:
    """The fake web of the command."""
    with a_web(PAGES) as made:

        def ask(
            urls: Sequence[str], rules: CiteRules, now_ns: Callable[[], int], tell: Callable[[LinkOutcome], None]
        ) -> None:
            def note(found: LinkOutcome) -> None:
                tell(found)
                made.told.append(found.url)

            run_link_checks(
                urls,
                note,
                client=lambda: create_link_client(rules, resolver=names(), dial=made.dial),
                checker=lambda client: LinkChecker(client=client, now_ns=now_ns, rules=rules),
            )

        monkeypatch.setattr(cite_links, "check_links_on_web", ask)
        yield made


def check_links(folder: Path, *words: str) -> Result:
    """Run the command in this process, with the fake web."""
    return CliRunner().invoke(cli, ["-C", str(folder), "cite", "check-links", *words], standalone_mode=False)


WOULD = """\
S1  would check  http://h1.example.net/1
S2  would check  http://h2.example.net/2
S3  would check  http://h3.example.net/3
S4  skipped      http://192.168.0.1/router  (not checked: 192.168.0.1 is private)
dry run: would check 3 URLs
"""
DID = """\
S1  alive        http://h1.example.net/1  (status 200)
S2  moved        http://h2.example.net/2  (redirects permanently to another URL; now at http://h2.example.net/1)
S3  unreachable  http://h3.example.net/3  (status 404; failure 1 of 3)
S4  blocked      http://192.168.0.1/router  (not checked: 192.168.0.1 is private)
4 URLs: 1 unreachable, 1 moved, 1 blocked, 1 alive
"""


def test_without_network_it_lists_what_it_would_check(repository: Path) -> None:
    ran = custody(repository, "cite", "check-links", "--all")
    assert (ran.status, ran.out, ran.err) == (0, WOULD, "add --network to check them\n")


def test_with_network_it_reports_the_verdicts(repository: Path, web: Web) -> None:
    ran = check_links(repository, "--all", "--network")
    assert (ran.return_value, ran.stdout, ran.stderr) == (0, DID, "")
    assert sorted(web.lines) == ["HEAD /1", "HEAD /1", "HEAD /2", "HEAD /3"]
    ran = check_links(repository, "--stale", "--network")
    assert ran.stdout.splitlines()[-1] == "1 URL: 1 blocked", "the rest is fresh"
    assert len(web.asked) == 4
    assert custody(repository, "verify").status == 0


def test_a_gone_url_is_exit_status_1(repository: Path, web: Web) -> None:
    (repository / "custody.toml").write_text("[cite]\nlink_gone_after = 1\n")
    ran = check_links(repository, "S3", "--network", "--json")
    assert ran.return_value == 1
    report = json.loads(ran.stdout)
    assert (report["report"], report["outcome"], report["network"]) == ("cite-check-links", "found", True)
    assert [(link["id"], link["verdict"], link["status"]) for link in report["links"]] == [("S3", "gone", 404)]
    assert custody(repository, "cite", "check-links", "--all").status == 0, "a URL that was not checked fails nothing"


def test_a_reports_list_is_checked_anywhere(tmp_path: Path, web: Web) -> None:
    (tmp_path / "report.md").write_text("One[1].\n\n## Sources\n\n1. [A](http://h1.example.net/1)\n")
    ran = check_links(tmp_path, "--file", "report.md", "--network")
    assert (ran.return_value, ran.stdout) == (
        0,
        "1  alive        http://h1.example.net/1  (status 200)\n1 URL: 1 alive\n",
    )
    piped = custody(tmp_path, "cite", "check-links", "--file", "-", stdin=(tmp_path / "report.md").read_text())
    assert piped.out.startswith("1  would check  http://h1.example.net/1\n")


def test_an_interrupt_keeps_the_results(repository: Path, web: Web) -> None:
    web.pages["/3"] = HANG
    handler = signal.signal(signal.SIGINT, signal.default_int_handler)

    def interrupt() -> None:
        while len(web.told) < 2 or "HEAD /3" not in web.lines:
            threading.Event().wait(0.01)
        os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=interrupt, daemon=True)
    thread.start()
    try:
        ran = check_links(repository, "--all", "--network")
    finally:
        thread.join()
        signal.signal(signal.SIGINT, handler)
    assert isinstance(ran.exception, click.Abort), "the program reports the interrupt and exits with 130"
    assert (
        "S1  alive " in ran.stdout
        and "S3  -            http://h3.example.net/3  (not checked: interrupted)" in ran.stdout
    )
    ran = check_links(repository, "--all", "--json")
    assert [link["verdict"] for link in json.loads(ran.stdout)["links"]] == ["alive", "moved", None, "blocked"]


def test_no_answer_at_all_is_reported(repository: Path, web: Web) -> None:
    web.pages.update({f"/{n}": b"" for n in range(5)})
    (repository / "custody.toml").write_text("[cite]\nlink_read_seconds = 0.1\nlink_gone_after = 1\n")
    ran = check_links(repository, "S1", "S2", "--network")
    assert ran.return_value == 0
    assert "no server answered, so no failure was counted" in ran.stderr


def test_the_real_command_reaches_nothing_on_this_machine(tmp_path: Path) -> None:
    with a_web({"/": said(200)}) as trap:
        hosts = ("127.0.0.1", "localhost", "[::1]", "0x7f.1", "[::ffff:127.0.0.1]")
        listed = "".join(f"{n}. [A](http://{host}:{trap.port}/)\n" for n, host in enumerate(hosts, 1))
        (tmp_path / "report.md").write_text(f"## Sources\n\n{listed}")
        ran = custody(tmp_path, "cite", "check-links", "--file", "report.md", "--network", "--json")
        assert trap.accepted == 0
    links = json.loads(ran.out)["links"]
    assert [link["verdict"] for link in links] == ["blocked"] * len(hosts)


def test_an_empty_registry_has_nothing_to_check(tmp_path: Path) -> None:
    folder = a_git_folder(tmp_path / "repository")
    assert custody(folder, "cite", "check-links", "--all").out == "no source has a URL\n"


@pytest.mark.parametrize(
    ("words", "error"),
    [
        ((), "nothing to check"),
        (("S9",), "unknown source 'S9'"),
        (("third",), "the source's source_id is invalid: 'third'"),
        (("--file", "gone.md"), "cannot read 'gone.md'"),
        (("--file", "a.md", "--all"), "--file cannot be combined with sources, --all or --stale"),
        (("S1", "--all"), "--all cannot be combined with sources"),
    ],
)
def test_invalid_selections_are_errors(tmp_path: Path, words: tuple[str, ...], error: str) -> None:
    folder = a_git_folder(tmp_path / "repository")
    ran = custody(folder, "cite", "check-links", *words)
    assert ran.status == 2 and error in ran.err, ran.err
