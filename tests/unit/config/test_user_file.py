"""The user's own file: found where such files belong, read as the user's, and never blocking."""

import os
import re
from pathlib import Path

import pytest

from custody.config import FILE_BYTES_MAX
from custody.config.rule_files import find_user_rule_file, format_rule_file_path
from custody.core.errors import InputError
from custody.trust.rules import TrustRules
from custody.workspace.rules_in_force import resolve_rules_in_force
from tests.builders.rules import home_with, reader


def alpha(environment: dict[str, str]) -> float:
    return resolve_rules_in_force(reader({}), environment)[0].of(TrustRules).ema_alpha


def test_it_is_looked_for_where_the_specification_says() -> None:
    assert find_user_rule_file({"XDG_CONFIG_HOME": "/x", "HOME": "/h"}) == "/x/custody/config.toml"
    assert find_user_rule_file({"HOME": "/h"}) == "/h/.config/custody/config.toml"
    assert find_user_rule_file({"XDG_CONFIG_HOME": "", "HOME": "/h"}) == "/h/.config/custody/config.toml"
    assert find_user_rule_file({"XDG_CONFIG_HOME": "relative", "HOME": "/h"}) == "/h/.config/custody/config.toml"
    assert find_user_rule_file({"XDG_CONFIG_HOME": "relative"}) is None
    assert find_user_rule_file({}) is None


def test_it_is_named_as_the_user_would() -> None:
    assert format_rule_file_path("/h/a/b", {"HOME": "/h"}) == "~/a/b"
    assert format_rule_file_path("/h/a/b", {"HOME": "/h/"}) == "~/a/b"
    assert format_rule_file_path("/other/b", {"HOME": "/h"}) == "/other/b"
    assert format_rule_file_path("/home/b", {"HOME": "/h"}) == "/home/b"
    assert format_rule_file_path("/x", {}) == "/x"


def test_it_counts_over_the_repository_and_may_be_a_link(tmp_path: Path) -> None:
    environment = home_with(tmp_path, "trust.ema_alpha = 0.2")
    assert (
        resolve_rules_in_force(reader({"custody.toml": "trust.ema_alpha = 0.4"}), environment)[0]
        .of(TrustRules)
        .ema_alpha
        == 0.2
    )
    file = tmp_path / "config" / "custody" / "config.toml"
    file.rename(tmp_path / "kept")
    file.symlink_to(tmp_path / "kept")
    assert alpha(environment) == 0.2


def test_without_one_or_without_a_home_nothing_is_set(tmp_path: Path) -> None:
    assert alpha({}) == 0.3
    assert alpha(home_with(tmp_path, None)) == 0.3
    (tmp_path / "config").write_text("a file where a folder is expected")
    assert alpha(home_with(tmp_path, None)) == 0.3


def test_a_pipe_a_folder_and_a_huge_file_are_refused(tmp_path: Path) -> None:
    environment = home_with(tmp_path, "#" * (FILE_BYTES_MAX + 1))
    file = tmp_path / "config" / "custody" / "config.toml"
    with pytest.raises(InputError, match=re.escape("'~/config/custody/config.toml' is larger than 1,048,576 bytes")):
        alpha(environment)
    file.unlink()
    os.mkfifo(file)
    with pytest.raises(InputError, match="is not a regular file"):
        alpha(environment)
    file.unlink()
    file.mkdir()
    with pytest.raises(InputError, match="is not a regular file"):
        alpha(environment)
    file.rmdir()
    file.symlink_to("/dev/zero")
    with pytest.raises(InputError, match="is not a regular file"):
        alpha(environment)
