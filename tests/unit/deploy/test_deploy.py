"""The deployment files use existing commands, options, locks and scripts, and contain no secret."""

import re
import shlex
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner

from custody.cli.main import cli

ROOT = Path(__file__).resolve().parents[3]
DEPLOY = ROOT / "deploy"
COMPOSE: dict[str, Any] = yaml.safe_load((DEPLOY / "compose.yaml").read_text())
CONTAINER = (DEPLOY / "Containerfile").read_text()


def commands() -> list[str]:
    """Return every custody command in the compose file, the container file and the guide."""
    texts = [str(part) for service in COMPOSE["services"].values() for part in service.get("command", ())]
    texts.append((ROOT / "docs" / "deployment.md").read_text().replace("\\\n", " "))
    matches = [
        match[0]
        for text in texts
        for match in re.finditer(r"custody (serve|worker|project|token|verify) [^`'\n]*", text)
    ]
    return sorted({" ".join(command.split()) for command in matches})


def test_every_kind_of_command_occurs() -> None:
    assert {command.split()[1] for command in commands()} >= {"serve", "worker", "project", "token", "verify"}


@pytest.mark.parametrize("command", commands())
def test_every_command_and_option_exists(command: str) -> None:
    words = shlex.split(command)[1:]
    verb = [word for word in words if not word.startswith(("-", "postgresql:")) and word.isascii()][:2]
    parts = verb if words[0] in ("project", "token") else verb[:1]
    result = CliRunner().invoke(cli, [*parts, "--help"])
    assert result.exit_code == 0, result.output
    for option in (word for word in words if word.startswith("--")):
        assert option in result.output or option == "--database", option


def test_the_image_uses_an_existing_lock_and_command() -> None:
    (lock,) = re.findall(r"-r (\S+)", CONTAINER)
    assert (ROOT / lock).is_file()
    assert 'CMD ["serve", "--host", "0.0.0.0", "--port", "8080"]' in CONTAINER
    assert re.search(r"^USER custody$", CONTAINER, re.MULTILINE)


def test_no_secret_is_in_a_file() -> None:
    assert all(set(secret) == {"file"} for secret in COMPOSE["secrets"].values())
    for name, service in COMPOSE["services"].items():
        for variable, value in (service.get("environment") or {}).items():
            assert not re.search("PASSWORD|TOKEN|SECRET|KEY", variable) or variable.endswith("_FILE"), (name, value)
    assert "secrets" not in (DEPLOY / "Containerfile.dockerignore").read_text()


def test_the_service_listens_on_loopback_and_is_read_only() -> None:
    for name in ("service", "worker"):
        service = COMPOSE["services"][name]
        assert service["read_only"] is True
        assert service["cap_drop"] == ["ALL"]
        assert all(port.startswith("127.0.0.1:") for port in service["ports"])
    assert "ports" not in COMPOSE["services"]["database"]


def test_the_start_script_of_the_database_exists() -> None:
    scripts = [volume.split(":")[0] for volume in COMPOSE["services"]["database"]["volumes"] if volume.startswith("./")]
    assert scripts == ["./login.sh"]
    assert (DEPLOY / "login.sh").stat().st_mode & 0o111
