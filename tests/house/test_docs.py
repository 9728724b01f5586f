"""Generated pages match their source, and a stale, broken or badly named document is reported."""

import doctest
import importlib
import pkgutil
import re
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from types import ModuleType

import click
import pytest

import bench
import tools
from custody.core.errors import InputError, Outcome, WorldError
from custody.store import sqlite
from custody.store.db import load_schema_migrations
from tests.builders.table import table
from tools import docs, links, markdown, package_tree
from tools.conformance import DOCUMENTS, FOLDER
from tools.pages import cli, database, errors, schemas
from tools.problems import Problem, Undocumented

ROOT = Path(__file__).resolve().parents[2]
Generators = Mapping[str, Callable[[], docs.Made]]
HEAD = "| id | section | what the document says | our name | shown by |\n|---|---|---|---|---|\n"


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """Make a repository with correct documents and without a reference."""
    for folder in (FOLDER, docs.REFERENCE):
        (tmp_path / folder).mkdir(parents=True)
    for document in DOCUMENTS:
        (tmp_path / FOLDER / f"{document}.md").write_text(HEAD)
    return tmp_path


GENERATORS: Generators = {"page.md": lambda: "# Page\n", "parts/": lambda: {"a.json": "{}\n", "b.json": "[]\n"}}


def told(tree: Path, capsys: pytest.CaptureFixture[str], generators: Generators = GENERATORS) -> tuple[int, list[str]]:
    """Return the exit status and the output of ``--check``."""
    status = docs.main(["--check"], root=tree, generators=generators)
    return status, capsys.readouterr().err.splitlines()


def written(tree: Path, generators: Generators = GENERATORS) -> None:
    assert docs.main(["--write"], root=tree, generators=generators) == 0


class TestReference:
    def test_what_was_written_is_as_it_would_be_made(self, tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
        written(tree)
        assert told(tree, capsys) == (0, [])
        assert (tree / docs.REFERENCE / "page.md").read_text() == docs.NOTICE + "# Page\n"
        assert (tree / docs.REFERENCE / "parts/a.json").read_text() == "{}\n"

    def test_a_missing_page_is_named_with_the_way_out(self, tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
        written(tree)
        (tree / docs.REFERENCE / "parts/a.json").unlink()
        assert told(tree, capsys) == (1, ["docs/reference/parts/a.json: is missing", "run: make docs"])

    def test_a_stale_page_is_named_with_the_way_out(self, tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
        written(tree)
        newer: Generators = {**GENERATORS, "page.md": lambda: "# Page, newer\n"}
        assert told(tree, capsys, newer) == (
            1,
            ["docs/reference/page.md: is outdated", "run: make docs"],
        )

    def test_a_page_edited_by_hand_is_caught_to_the_byte(self, tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
        written(tree)
        with (tree / docs.REFERENCE / "page.md").open("ab") as page:
            page.write(b"\r\n")
        assert told(tree, capsys)[0] == 1

    def test_a_page_that_is_not_generated_is_named_and_the_next_write_removes_it(
        self, tree: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        written(tree)
        (tree / docs.REFERENCE / "parts/old.json").touch()
        assert told(tree, capsys)[1] == ["docs/reference/parts/old.json: is made by no generator", "run: make docs"]
        written(tree)
        assert capsys.readouterr().out == "removed docs/reference/parts/old.json\n"
        assert told(tree, capsys) == (0, [])

    def test_a_source_that_says_too_little_stops_both_ways(
        self, tree: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        def mute() -> str:
            raise Undocumented("0001.sql:3: column 'seq' has no comment")

        for way in ("--check", "--write"):
            assert docs.main([way], root=tree, generators={"page.md": mute}) == 1
            assert capsys.readouterr().err == "0001.sql:3: column 'seq' has no comment\n"

    def test_the_other_checks_run_too_and_need_no_make_docs(
        self, tree: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        written(tree)
        (tree / "README.md").write_text("[gone](gone.md)\n")
        (tree / FOLDER / "000.md").unlink()
        status, words = told(tree, capsys)
        assert status == 1
        assert [line.partition(":")[0] for line in words] == [f"{FOLDER}/000.md", "README.md"]

    def test_it_runs_as_a_file_and_as_a_module(self) -> None:
        for way in (["tools/docs.py"], ["-m", "tools.docs"]):
            done = subprocess.run(
                [sys.executable, *way, "--help"], cwd=ROOT, capture_output=True, text=True, check=True
            )
            assert "--check" in done.stdout


class TestPackageTree:
    @pytest.fixture
    def project(self, tree: Path) -> Path:
        """A project with two layers and a page without its tree."""
        for name, line in {"low": "The ground.", "high": "The top."}.items():
            (tree / "src/custody" / name).mkdir(parents=True)
            (tree / "src/custody" / name / "__init__.py").write_text(f'"""{line}\n\nMore.\n"""\n')
        (tree / "src/custody/face.py").write_text('"""A name that documents use."""\n')
        (tree / ".importlinter").write_text("[importlinter:contract:layers]\nlayers =\n    face | high\n    low\n")
        (tree / package_tree.PAGE).write_text(f"# Tree\n{package_tree.BEGIN}{package_tree.END}More.\n")
        return tree

    def test_a_stale_tree_is_named_and_written(self, project: Path, capsys: pytest.CaptureFixture[str]) -> None:
        written(project)
        capsys.readouterr()
        assert told(project, capsys) == (0, [])
        page = project / package_tree.PAGE
        assert page.read_text() == (
            f"# Tree\n{package_tree.BEGIN}```text\n"
            "face            A name that documents use.\n"
            "· high          The top.\n"
            "low             The ground.\n"
            f"```\n{package_tree.END}More.\n"
        )
        page.write_text(page.read_text().replace("The ground.", "The cellar."))
        assert told(project, capsys) == (1, [f"{package_tree.PAGE}: {package_tree.STALE}"])

    def test_a_page_without_markers_is_named(self, project: Path) -> None:
        (project / package_tree.PAGE).write_text("# Tree\n")
        assert [problem.message for problem in package_tree.check(project)] == [package_tree.UNMARKED]

    def test_a_package_without_a_docstring_is_named(self, project: Path) -> None:
        (project / "src/custody/low/__init__.py").write_text("")
        assert [problem.message for problem in package_tree.check(project)] == ["'low' has no docstring"]


class TestArchitecture:
    PAGE = "\n".join((ROOT / name).read_text() for name in (package_tree.PAGE, "CONTRIBUTING.md"))
    PATHS = sorted(set(re.findall(r"`([a-z_]+(?:/[\w]+)+(?:\.\w+)?)`", PAGE)))

    def test_every_path_is_there(self) -> None:
        assert len(self.PATHS) > 50
        assert [path for path in self.PATHS if not self.place(path).exists()] == []

    def test_every_table_is_in_the_file_that_is_named_for_it(self) -> None:
        tables = re.findall(r"((?:`[A-Z_]+`(?: or | and )?)+) (?:of|in) `([\w/]+\.py)`", self.PAGE)
        pairs = [(name, path) for cell, path in tables for name in re.findall(r"[A-Z_]+", cell)]
        assert len(pairs) > 10
        assert [pair for pair in pairs if not self.is_defined(*pair)] == []

    def is_defined(self, name: str, path: str) -> bool:
        return re.search(rf"^{name}\b", self.place(path).read_text(), re.MULTILINE) is not None

    @staticmethod
    def place(path: str) -> Path:
        top = path.partition("/")[0]
        return ROOT / path if top in ("bench", "docs", "src", "tests", "tools", "web") else ROOT / "src/custody" / path


class TestLinks:
    @pytest.mark.parametrize(
        "link",
        [
            "[a](docs/a.md)",
            "[a](docs)",
            "[a](docs/a.md#second-part)",
            "[a](docs/a.md#second-part-1)",
            "[here](#top)",
            "![picture](docs/a.png)",
            "[a][a]\n\n[a]: docs/a.md",
            "[spaced](docs/b%20b.md)",
            "[elsewhere](https://example.org/gone.md)",
            "[mail](mailto:a@example.org)",
            "`[code](gone.md)`",
            "```\n[code](gone.md)\n```",
        ],
    )
    def test_a_link_that_leads_somewhere_is_sound(self, tree: Path, link: str) -> None:
        assert self.trouble(tree, link) == []

    @pytest.mark.parametrize(
        ("link", "wrong"),
        [
            ("[a](gone.md)", "link 'gone.md' has no target"),
            ("![a](docs/gone.png)", "link 'docs/gone.png' has no target"),
            ("[a][a]\n\n[a]: gone.md", "link 'gone.md' has no target"),
            ("[a](docs/a.md#third-part)", "link 'docs/a.md#third-part' has no matching heading in 'a.md'"),
            ("[a](docs/a.md#second-part-2)", "link 'docs/a.md#second-part-2' has no matching heading in 'a.md'"),
            ("[here](#bottom)", "link '#bottom' has no matching heading in 'README.md'"),
            ("[a](/docs/a.md)", "link '/docs/a.md' is not relative"),
            ("[a](../elsewhere.md)", "link '../elsewhere.md' leads out of the repository"),
            ("| a |\n|---|\n| [a](gone.md) |", "link 'gone.md' has no target"),
        ],
    )
    def test_a_link_that_leads_nowhere_is_named(self, tree: Path, link: str, wrong: str) -> None:
        assert [problem.message for problem in self.trouble(tree, link)] == [wrong]

    def test_the_line_of_a_broken_link_is_reported(self, tree: Path) -> None:
        (problem,) = self.trouble(tree, "one\ntwo [a](gone.md)\nthree")
        assert str(problem) == "README.md:4: link 'gone.md' has no target"

    @pytest.mark.parametrize("page", ["GLOSSARY.md", "docs/deep/er.md", "bench/README.md"])
    def test_every_page_is_checked(self, tree: Path, page: str) -> None:
        (tree / page).parent.mkdir(parents=True, exist_ok=True)
        (tree / page).write_text("[a](gone.md)")
        assert links.check(tree) == [Problem(page, 1, "link 'gone.md' has no target")]

    def trouble(self, tree: Path, link: str) -> list[Problem]:
        (tree / "docs/a.md").write_text("# A\n\n## Second part\n\n## Second `part`\n")
        (tree / "docs/b b.md").touch()
        (tree / "docs/a.png").touch()
        (tree.parent / "elsewhere.md").touch()
        (tree / "README.md").write_text(f"# Top\n\n{link}\n")
        return links.check(tree)


SQL = """\
-- What arrived.

-- One row per record,
-- append-only.
CREATE TABLE record (
    store_id TEXT NOT NULL,    -- the chain
    seq      {int} NOT NULL,   -- the place in it, from 1
    bytes    {blob} DEFAULT 0  -- NULL | when <erased>
    , PRIMARY KEY (store_id, seq)
) {clustered};
CREATE UNIQUE INDEX record_seq ON record (seq);
"""


class TestDatabase:
    def test_a_table_has_its_comment_its_columns_and_its_keys(self) -> None:
        page = database.page(database.tables_of({"0001_records.sql": SQL.replace("    , PRIMARY", "    PRIMARY")}))
        assert page.partition("## record")[2] == (
            "\n\nOne row per record, append-only. Made by `0001_records.sql`.\n\n"
            "| column | type | meaning |\n"
            "|---|---|---|\n"
            "| `store_id` | `TEXT NOT NULL` | the chain |\n"
            "| `seq` | `int NOT NULL` | the place in it, from 1 |\n"
            "| `bytes` | `blob DEFAULT 0` | NULL \\| when &lt;erased> |\n"
            "\n- `PRIMARY KEY (store_id, seq)`\n- `index record_seq unique (seq)`\n"
        )

    def test_the_types_that_differ_are_explained_if_a_column_has_them(self) -> None:
        sql = "-- T.\nCREATE TABLE t (\n  a {blob} NOT NULL -- a\n) {clustered};\n"
        page = database.page(database.tables_of({"0001.sql": sql}))
        assert "|---|---|---|\n| `blob` | `BLOB` | `BYTEA` |\n\n## t\n" in page

    def test_later_migrations_add_and_drop(self) -> None:
        (table,) = database.tables_of(
            {
                "0002_more.sql": "ALTER TABLE kept ADD COLUMN b TEXT; -- more\nDROP TABLE gone;\nDROP INDEX kept_a;\n",
                "0001_first.sql": "-- Kept.\nCREATE TABLE kept (\n  a TEXT -- a\n);\nCREATE INDEX kept_a ON kept (a);\n"
                "-- Gone.\nCREATE TABLE gone (\n  a TEXT -- a\n);\nINSERT INTO kept VALUES ('x');\n",
            }
        )
        assert (table.name, [column[0] for column in table.columns], table.indexes) == ("kept", ["a", "b"], {})

    @pytest.mark.parametrize(
        ("sql", "wrong"),
        [
            ("CREATE TABLE t (\n  a TEXT -- a\n);", "0001.sql:1: table 't' has no comment above it"),
            ("-- T.\n\nCREATE TABLE t (\n  a TEXT -- a\n);", "0001.sql:3: table 't' has no comment above it"),
            ("-- T.\nCREATE TABLE t (\n  a TEXT,\n  b TEXT -- b\n);", "0001.sql:3: column 'a' has no comment"),
            ("-- T.\nCREATE TABLE t (\n  a TEXT, b TEXT -- b\n);", "0001.sql:3: cannot read 'a TEXT, b TEXT -- b'"),
            ("CREATE INDEX i ON t (a);", "0001.sql:1: unknown table 't'"),
            ("ALTER TABLE t ADD COLUMN a TEXT; -- a", "0001.sql:1: unknown table 't'"),
            ("ALTER TABLE t RENAME TO u;", "0001.sql:1: cannot read 'ALTER TABLE t RENAME TO u;'"),
            ("CREATE VIEW v AS SELECT 1;", "0001.sql:1: cannot read 'CREATE VIEW v AS SELECT 1;'"),
        ],
    )
    def test_what_cannot_be_shown_whole_is_refused(self, sql: str, wrong: str) -> None:
        with pytest.raises(Undocumented) as refused:
            database.tables_of({"0001.sql": sql})
        assert str(refused.value) == wrong

    @pytest.mark.parametrize("package", [database.STORE, database.CONTROL])
    def test_the_page_has_exactly_what_a_new_database_has(self, package: str) -> None:
        """Compare the real tables, columns and indexes of our migrations with those on the page."""
        connection = sqlite3.connect(":memory:")
        for step in load_schema_migrations(package):
            for statement in step.statements:
                connection.execute(sqlite.DIALECT.ddl(statement))
        made = {
            name: {column[1] for column in connection.execute(f"PRAGMA table_info({name})")}
            for (name,) in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")
        }
        indexes = {name for (name,) in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'index'")}
        connection.close()
        shown = database.tables_of(database.texts(package))
        assert {table.name: {column[0] for column in table.columns} for table in shown} == made
        assert {name for table in shown for name in table.indexes} == {i for i in indexes if "autoindex" not in i}


def a_group() -> click.Group:
    """Make a group with two commands, one of them hidden, and a group of one, as in the real command."""

    @click.group(help="Show where code comes from.")
    @click.option("-C", "folder", metavar="PATH", default=".", help="the repository")
    @click.version_option("1")
    def group(folder: str) -> None: ...

    @group.command(epilog="\b\nExamples:\n  custody verify --all")
    @click.argument("names", nargs=-1)
    @click.option("--limit", type=click.IntRange(1), default=20, help="how many <at most>")
    @click.option("--json", is_flag=True, help="print JSON")
    @click.option("--secret", hidden=True)
    def verify(names: tuple[str, ...], limit: int, json: bool, secret: str) -> None:
        """Check that nothing was changed.

        Reads every record
        and every body.

        \b
        exit 0  nothing
        exit 1    damage
        \f
        Not for users.
        """

    @group.group()
    def remote() -> None:
        """Name services."""

    @remote.command()
    def add() -> None:
        """Add one."""

    @group.command(hidden=True)
    def complete() -> None: ...

    return group


SECTIONS: cli.Sections = {"Keep": ["verify"], "Team": ["remote"]}


class TestCommandLine:
    def test_the_whole_page(self) -> None:
        assert cli.page(a_group(), "custody", SECTIONS) == (
            "# The command line\n\n"
            "```text\ncustody [OPTIONS] COMMAND [ARGS]...\n```\n\n"
            "Show where code comes from.\n\n"
            "| option | meaning |\n|---|---|\n"
            "| `-C PATH` | the repository [default: .] |\n"
            "| `--version` | Show the version and exit. |\n"
            "\n## Keep\n"
            "\n### custody verify\n\n"
            "```text\ncustody verify [OPTIONS] [NAMES]...\n```\n\n"
            "Check that nothing was changed.\n\n"
            "Reads every record and every body.\n\n"
            "```text\nexit 0  nothing\nexit 1    damage\n```\n\n"
            "| option | meaning |\n|---|---|\n"
            "| `--limit INTEGER RANGE` | how many &lt;at most> [default: 20; x>=1] |\n"
            "| `--json` | print JSON |\n"
            "\n```text\nExamples:\n  custody verify --all\n```\n"
            "\n## Team\n"
            "\n### custody remote\n\n"
            "```text\ncustody remote [OPTIONS] COMMAND [ARGS]...\n```\n\n"
            "Name services.\n"
            "\n#### custody remote add\n\n"
            "```text\ncustody remote add [OPTIONS]\n```\n\n"
            "Add one.\n"
        )

    def test_the_width_of_the_terminal_does_not_show(self, monkeypatch: pytest.MonkeyPatch) -> None:
        wide = cli.page(a_group(), "custody", SECTIONS)
        monkeypatch.setenv("COLUMNS", "20")
        assert cli.page(a_group(), "custody", SECTIONS) == wide

    def test_a_section_without_commands_is_left_out(self) -> None:
        whole = cli.page(a_group(), "custody", SECTIONS)
        assert cli.page(a_group(), "custody", {"Ask": [], **SECTIONS}) == whole

    def test_a_command_in_no_section_is_refused(self) -> None:
        with pytest.raises(Undocumented, match="hold \\['verify'\\], it lists \\['remote', 'verify'\\]"):
            cli.page(a_group(), "custody", {"Keep": ["verify"]})

    def test_a_command_without_help_is_refused(self) -> None:
        group = a_group()
        group.add_command(click.Command("mute"))
        with pytest.raises(Undocumented, match="'custody mute' has no help"):
            cli.page(group, "custody", {**SECTIONS, "Ask": ["mute"]})


SCHEMA: schemas.Schema = {
    "$ref": "#/$defs/Record",
    "description": "One record.",
    "$defs": {
        "Record": {
            "type": "object",
            "description": "What arrived.",
            "required": ["seq"],
            "properties": {
                "seq": {"type": "integer", "minimum": 1, "description": "its place"},
                "parts": {"type": "array", "items": {"$ref": "#/$defs/Part"}},
                "at": {"anyOf": [{"type": "string", "pattern": "^2", "description": "``when``"}, {"type": "null"}]},
                "any": {},
            },
        },
        "Part": {"enum": ["head", "tail"]},
    },
}


class TestSchemas:
    def test_files_are_the_same_bytes_whatever_the_order_of_keys(self) -> None:
        other = dict(reversed(list(SCHEMA.items())))
        assert schemas.files({"record": SCHEMA}) == schemas.files({"record": other})
        assert schemas.files({"record": SCHEMA})["record.json"].startswith('{\n  "$defs": {\n    "Part"')

    def test_the_page_shows_every_shape_with_its_fields(self) -> None:
        assert schemas.page({"record": SCHEMA}).partition("\n## record\n")[2] == (
            "\n[record.json](schemas/record.json)\n"
            "\nOne record.\n\n`Record`\n"
            '\n### Part\n\n`"head"`, `"tail"`\n'
            "\n### Record\n\nWhat arrived.\n\n"
            "| field | type | required | meaning |\n"
            "|---|---|---|---|\n"
            "| `seq` | integer (minimum 1) | yes | its place |\n"
            "| `parts` | array of `Part` |  |  |\n"
            "| `at` | string or null |  | `when` |\n"
            "| `any` | anything |  |  |\n"
        )


class TestErrors:
    def test_every_way_to_end_is_on_the_page(self) -> None:
        rows = [line for line in errors.errors_page().splitlines() if line.startswith("| ")][1:]
        assert [row[:10] for row in (rows[0], rows[1], rows[-1])] == ["| 0 | 200 ", "| 1 | 200 ", "| 4 | 500 "]
        for kind, start in ((InputError, "| 2 | 422 "), (WorldError, "| 3 | 503 ")):
            assert any(row.startswith(f"{start}| `{kind.__name__}` |") for row in rows)
        assert any("| `RulesError`, a kind of `InputError` |" in row for row in rows)

    def test_every_outcome_has_words(self) -> None:
        assert set(errors.OUTCOMES) == set(Outcome)


def modules_of(package: ModuleType) -> list[str]:
    found = pkgutil.walk_packages(package.__path__, f"{package.__name__}.")
    return [module.name for module in found if not module.name.endswith("__main__")]


@table("name", [*modules_of(bench), *modules_of(tools)])
def test_the_examples_in_docstrings_hold(name: str) -> None:
    assert doctest.testmod(importlib.import_module(name)).failed == 0


def test_a_cell_of_a_table_never_breaks_the_table() -> None:
    assert markdown.table(("a",), [("x|y\nz",)]).splitlines()[2] == r"| x\|y z |"


def test_links_in_this_repository_lead_somewhere() -> None:
    assert links.check(ROOT) == []
