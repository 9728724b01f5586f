"""Errors in files name the file, the key or the position, and give a hint."""

import re
import time
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from custody.config import FILE_BYTES_MAX
from custody.config.document_files import USERS, split_rule_name
from custody.core.errors import InputError
from custody.workspace.rules_in_force import resolve_rules_in_force
from custody.workspace.wiring import import_rule_tables
from tests.builders.rules import home_with, reader
from tests.builders.table import table

TOML = "custody.toml"
YAML = "config/thresholds.yaml"
NAMES = "'custody rules' lists every rule"
WHOLE = "a file with an error is not used at all"
USER = "in your own file"


def refusal(files: dict[str, bytes | str], **variables: str) -> InputError:
    with pytest.raises(InputError) as refused:
        resolve_rules_in_force(reader(files), variables)
    assert type(refused.value) is InputError
    assert refused.value.hint
    return refused.value


@table(
    ("text", "message", "hint"),
    [
        ("[trsut]", "unknown rule 'trsut' in 'custody.toml'", "did you mean 'trust'?"),
        ("[trust]\nema_alpa = 1", "unknown rule 'trust.ema_alpa' in 'custody.toml'", "did you mean 'ema_alpha'?"),
        ("[attribute.points]\nlink = 1", "'attribute.points.link' in", "did you mean 'commit_link'?"),
        ("[tool.custody.trust]", "unknown rule 'tool' in 'custody.toml'", NAMES),
        ("'trust.ema_alpha' = 1", "unknown rule 'trust.ema_alpha' in 'custody.toml'", NAMES),
        ("trust = 3", "'trust' in 'custody.toml' must be a table of keys, not 3", NAMES),
        ("[attribute]\npoints = [1]", "'attribute.points' in 'custody.toml' must be a table of keys, not a list", ""),
        ("[trust]\nema_alpha = '0.3'", "must be a finite number, not the text '0.3'", "the default is 0.3"),
        ("[trust]\nema_alpha = true", "must be a finite number, not true", ""),
        ("[trust]\nema_alpha = nan", "must be a finite number, not nan", ""),
        ("[trust]\nema_alpha = -inf", "must be a finite number, not -inf", ""),
        ("[trust]\nema_alpha = 1979-05-27", "must be a finite number, not a date or time", ""),
        ("[trust]\nema_alpha = 07:32:00", "must be a finite number, not a date or time", ""),
        ("[trust]\nema_alpha = {a = 1}", "must be a finite number, not a table", ""),
        ("[trust.ema_alpha]\na = 1", "'trust.ema_alpha' in 'custody.toml' must be a finite number, not a table", ""),
        ("[trust]\napprove_samples_min = 50.0", "must be a whole number, not 50.0", "the default is 10"),
        ("[trust]\napprove_samples_min = 0x1" + "0" * 300, "must be a whole number, not a number beyond 64 bits", ""),
        ("[trust]\nprofile = 'bold'", "must be one of cautious, document, not the text 'bold'", ""),
        ("[trust]\nprofile = 1", "must be one of cautious, document, not 1", ""),
        ("[dedupe]\nmask_numbers = 1", "must be true or false, not 1", "the default is true"),
        ("[trust]\ntier_score_min = 0.5", "must be a list, each a finite number, not 0.5", ""),
        ("[trust]\ntier_score_min = [0, 'a', 1, 1, 1]", "must be a list, each a finite number, not the text 'a'", ""),
        ("[trust]\ntier_lines_max = [0, 1.5, 2, 3, 4]", "must be a list, each a whole number, not 1.5", ""),
        ("[dedupe.channel_patterns]\ntests = 'a'", "must be a list, each a text, not the text 'a'", ""),
        (
            "[trust]\ntier_score_min = [0, 1]",
            "(untrusted, low, medium, high, verified); set by custody.toml: trust.tier_score_min",
            "the default of 'trust.tier_score_min' is 0.0, 0.2, 0.4, 0.6, 0.8",
        ),
        (
            "[trust]\napprove_lines_max = 300",
            "above 'trust.approve_lines_max', which is 300; set by custody.toml: trust.approve_lines_max",
            "the default of 'trust.approve_lines_max' is 500",
        ),
        (
            "[dedupe.weights]\nprod_files_sim = 0.9",
            "add up to 1.8, not to at most 1; set by custody.toml: dedupe.weights.prod_files_sim",
            "the default of",
        ),
        ("[trust", "'custody.toml' is not TOML: Expected ']' at the end of a table declaration at line 1", WHOLE),
        ("[trust]\nema_alpha = ", "'custody.toml' is not TOML: Invalid value at line 2, column 13", WHOLE),
        ("[trust]\nema_alpha = 1\nema_alpha = 2", "Cannot overwrite a value at line 3, column 14", WHOLE),
        ("a = '''\n\n", "'custody.toml' is not TOML: Expected \"'''\" at line 3, column 1", WHOLE),
        ("'\x1b' = 1", "is not TOML: Found invalid character '\\x1b' at line 1, column 2", WHOLE),
        ('"\\u001b[2J" = 1', "unknown rule '\\x1b[2J' in 'custody.toml'", NAMES),
        ("x = " + "9" * 5_000, "a number of more than 400 digits at line 1, column 5", WHOLE),
        ("x = 1\ny = " + "[" * 100_000, "more than 16 levels at line 2, column 21", WHOLE),
        ("x = " + "{a=" * 100_000, "more than 16 levels at line 1", WHOLE),
        ("# é\n" + "a." * 17 + "a = 1", "a key of more than 16 parts at line 2, column 1", WHOLE),
        (b"[trust]\n'\xff'", "'custody.toml' is not UTF-8 at line 2, column 2", "save it as UTF-8"),
        (b"\0", "'custody.toml' is not TOML", WHOLE),
        (b"#" * (FILE_BYTES_MAX + 1), "'custody.toml' is larger than 1,048,576 bytes", "a file of rules is small"),
    ],
)
def test_a_bad_toml_file(text: bytes | str, message: str, hint: str) -> None:
    error = refusal({TOML: text})
    assert message in error.message
    assert hint in str(error.hint)


@table(
    ("text", "message"),
    [
        ("- a", f"'{YAML}' must be a table of keys, not a list"),
        ("just words", f"'{YAML}' must be a table of keys, not the text 'just words'"),
        ("w1: &a 0.3\nw2: *a", "an anchor at line 1, column 5"),
        ("w1: *a", "an alias at line 1, column 5"),
        ("w1: !!float 0.3", "a tag at line 1, column 5"),
        ("!t\nw1: 0.3", "a tag at line 1, column 1"),
        ("!!python/object/apply:os.system ['true']", "a tag at line 1, column 1"),
        ("w1: 0.3\nw1: 0.2", "repeated key 'w1' at line 2, column 1"),
        ("w1: 0.3\n<<: {w2: 0.1}", f"unknown rule '<<' in '{YAML}'"),
        ("? [a]\n: 1\nw1: 0.3", "a key that is not a text at line 1, column 3"),
        ("w1: [1", "at line 1, column 7"),
        ("w1: 0.3\n w2: 1", "mapping values are not allowed here at line 2, column 4"),
        ("w1:\t0.3", "cannot start any token at line 1, column 4"),
        ("w1: 0.3\n---\nw1: 0.2", "at line 2, column 1"),
        ("w1: " + "[" * 1_000_000, "more than 16 levels at line 1, column 20"),
        ("- " * 500_000, "more than 16 levels at line 1"),
        ("w1: [" + "1, " * 200_000 + "1]", "more than 10,000 values at line 1"),
        ("w1: '0.3'", f"'w1' in '{YAML}' must be a finite number, not the text '0.3'"),
        ("w1: yes", "must be a finite number, not the text 'yes'"),
        ("w1: 0_3", "must be a finite number, not the text '0_3'"),
        ("w1: 1:30", "must be a finite number, not the text '1:30'"),
        ("w1: 2026-01-31", "must be a finite number, not the text '2026-01-31'"),
        ("w1: .nan", "must be a finite number, not nan"),
        ("w1: -.inf", "must be a finite number, not -inf"),
        ("w1: 1" + "0" * 400, "must be a finite number, not inf"),
        ("w1: true", "must be a finite number, not true"),
        ("w1:", "must be a finite number, not nothing"),
        ("rewriteLineThreshold: 010", "must be a whole number, not the text '010'"),
        ("w1: 0.3\nw9: 1", f"unknown rule 'w9' in '{YAML}'"),
        ("testcap: 0.1", f"unknown rule 'testcap' in '{YAML}'"),
        ("w1: 0.3\nweights: {prod_minhash_sim: 0.3}", "and 'w1' set the same rule, 'dedupe.weights.prod_minhash_sim'"),
        ("w1: 0.3\nweights.prod_minhash_sim: 0.1", f"unknown rule 'weights.prod_minhash_sim' in '{YAML}'"),
        ("w1: 0.3\nweights: 1", f"'weights' in '{YAML}' must be a table of keys, not 1"),
        ("w1: 0.9", f"add up to 1.55, not to at most 1; set by {YAML}: w1"),
        (b"w1: \xff", f"'{YAML}' is not UTF-8 at line 1, column 5"),
        (b"w1: 0.3\n\x01", "an invalid character at line 2, column 1"),
        (b"#" * (FILE_BYTES_MAX + 1), "is larger than 1,048,576 bytes"),
    ],
)
def test_a_bad_yaml_file(text: bytes | str, message: str) -> None:
    assert message in refusal({YAML: text}).message


@table(
    ("files", "message", "nearest"),
    [
        ({".ai-git/config.yaml": "trsut: {}"}, "unknown rule 'trsut' in '.ai-git/config.yaml'", "trust"),
        ({".ai-git/config.yaml": "trust: {ema_alhpa: 1}"}, "'trust.ema_alhpa' in '.ai-git/config.yaml'", "ema_alpha"),
        ({".ai-git/config.yaml": "trust: 1"}, "'trust' in '.ai-git/config.yaml' must be a table of keys", "rules"),
        ({"config/classification_rules.yaml": "test: [a]"}, "'test' in 'config/classification_rules.yaml'", "tests"),
        ({"config/classification_rules.yaml": "docs: a"}, "must be a list, each a text, not the text 'a'", "docs/**"),
        (
            {"config/classification_rules.yaml": "docs: [a]\nproduction: [b]"},
            "'production' in 'config/classification_rules.yaml' cannot have patterns",
            "default remainder",
        ),
        ({"pyproject.toml": "tool = 1"}, "'tool' in 'pyproject.toml' must be a table of keys, not 1", ""),
        ({"pyproject.toml": "[tool]\ncustody = 1"}, "'tool.custody' in 'pyproject.toml' must be a table", ""),
        (
            {"pyproject.toml": "[tool.custody.trust]\nx = 1"},
            "'tool.custody.trust.x' in 'pyproject.toml'",
            "did you mean",
        ),
        ({"pyproject.toml": "[[["}, "'pyproject.toml' is not TOML", ""),
    ],
)
def test_a_bad_file_of_another_name(files: dict[str, bytes | str], message: str, nearest: str) -> None:
    error = refusal(files)
    assert message in error.message
    assert nearest in str(error.hint)


FORBIDDEN = (
    "[remote]\nurl = 'https://example.invalid'",
    "[service]\nurl = 'https://example.invalid'",
    "database = 'postgresql://example.invalid/x'",
    "token = 'x'",
    "command = 'x'",
    "key = '/x'",
    "signing-key = '/x'",
    "sshCommand = 'x'",
    "[trust]\nservice_url = 'x'",
    "[attribute.points]\ntoken = 1",
    "[user]\nkey = 'x'",
)


@table("text", FORBIDDEN)
@table("file", ["custody.toml", "pyproject.toml"])
def test_a_repository_sets_no_endpoint_command_token_or_key(file: str, text: str) -> None:
    if file == "pyproject.toml":
        text = re.sub(r"^\[", "[tool.custody.", text) if text.startswith("[") else "[tool.custody]\n" + text
    error = refusal({file: text})
    if "[user]" in text or "custody.user" in text:
        assert "unknown rule '" in error.message  # no file has such a table
    else:
        assert "its files set only rules" in error.message
        assert USER in str(error.hint)


def test_a_documents_file_sets_none_either() -> None:
    error = refusal({YAML: "w1: 0.3\ndatabase: x"})
    assert "a repository cannot set" in error.message


def test_no_rule_is_named_like_a_setting_of_the_users() -> None:
    """Otherwise a repository's file could set a value that only a user may set."""
    found = {rule for rule in import_rule_tables().rules if split_rule_name(rule.replace(".", "_")) & USERS}
    # Safe: it only chooses, by name, among the remotes that the user added to this clone or to custody. A URL is
    # refused, so a repository's file never names a place of its own. The commands are names that recorded commands are
    # compared with; none is run.
    names = {f"review.{kind}_commands" for kind in ("build", "format", "lint", "test", "types")}
    assert found == {"gate.budget_remote", *names}


def test_the_users_file_sets_nothing_else_either_until_a_verb_needs_it(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="unknown rule 'remote' in '~/config/custody/config.toml'"):
        resolve_rules_in_force(reader({}), home_with(tmp_path, "[remote]\n"))


@table(
    ("name", "text", "message"),
    [
        ("HIGH", "", "must be a number such as 0.8, not the text ''"),
        ("HIGH", " 0.8", "not the text ' 0.8'"),
        ("HIGH", "0,8", "not the text '0,8'"),
        ("HIGH", "nan", "not the text 'nan'"),
        ("HIGH", "1e-1", "not the text '1e-1'"),
        ("HIGH", "-0.1", "not the text '-0.1'"),
        ("HIGH", "0.8\udcff", "not the text '0.8\\udcff'"),
        ("HIGH", "1.5", "'trust.tier_score_min' is 1.5, above 1; set by ANSIBEL_TRUST_THRESHOLD_HIGH (entry 4)"),
        (
            "MEDIUM",
            "0.9",
            "from 0.9 (entry 3) to 0.6 (entry 4); set by ANSIBEL_TRUST_THRESHOLD_MEDIUM (entry 3)",
        ),
        ("VERIFIED", "0.9", "unknown rule 'ANSIBEL_TRUST_THRESHOLD_VERIFIED'"),
        ("", "0.9", "unknown rule 'ANSIBEL_TRUST_THRESHOLD_'"),
    ],
)
def test_a_bad_variable(name: str, text: str, message: str) -> None:
    assert message in refusal({}, **{f"ANSIBEL_TRUST_THRESHOLD_{name}": text}).message


@table(
    "text",
    [
        ".".join("a" * 500_000) + " = 1",
        "[" + " . ".join("a" * 200_000) + "]",
        "x = {" + ".".join(['"a"'] * 200_000) + " = 1}",
        'x = [""" \\""" """", {' + ".".join("a" * 200_000) + " = 1}]",
        'x = """' + '\\"""' * 200_000,
        "x = '''" + "''" * 400_000,
        "x = [" + "1," * 400_000,
        "a" * 1_000_000,
        "a " * 500_000,
        "." * 1_000_000,
    ],
)
def test_no_toml_file_keeps_the_parser_busy(text: str) -> None:
    start = time.process_time()
    refusal({TOML: text})
    assert time.process_time() - start < 10


FILES = st.sampled_from([TOML, YAML, "pyproject.toml", ".ai-git/config.yaml", "config/classification_rules.yaml"])
SIGNS = (*"[]{},:.=\"'#-?!&*|>%@`~\\\n\r\t ", '"""', "'''", "[[", "]]", "\r\n")
WORDS = ("a", "trust", "ema_alpha", "w1", "tests", "tool.custody", "0.3", "true", "nan", "1979-05-27", "é")
PIECES = st.lists(st.sampled_from((*SIGNS, *WORDS)), max_size=40).map("".join)


@given(FILES, st.binary(max_size=60) | PIECES | PIECES.map(lambda text: "[trust]\n" + text))
def test_any_bytes_are_read_or_refused(file: str, content: bytes | str) -> None:
    with suppress(InputError):
        resolve_rules_in_force(reader({file: content}), {})


@given(st.text(max_size=100).filter(lambda name: name not in (*import_rule_tables(), "cautious", "document")))
def test_what_a_file_holds_never_reaches_the_terminal_as_it_is(name: str) -> None:
    escaped = "".join(f"\\U{ord(character):08x}" for character in name)
    assert refusal({TOML: f'"{escaped}" = 1'}).message.isprintable()
    assert refusal({TOML: f'trust.profile = "{escaped}"'}).message.isprintable()
