"""Surroundings of the seen half."""

import json

from bench.redaction_corpus.draw import HEX, Draw
from bench.redaction_corpus.frame import Places


def env_file(draw: Draw, name: str, secret: str) -> str:
    """An environment file."""
    return (
        f"# {draw.service()}\nNODE_ENV=production\nPORT={draw.between(3000, 9000)}\n{name}={secret}\nLOG_LEVEL=info\n"
    )


def quoted_env_file(draw: Draw, name: str, secret: str) -> str:
    """An environment file with quotes."""
    return f'HOST="{draw.host()}"\n{name}="{secret}"\nREGION="eu-central-1"\n'


def python(draw: Draw, name: str, secret: str) -> str:
    """A module of settings."""
    return (
        f'"""Settings of {draw.service()}."""\n\nimport os\n\nTIMEOUT = {draw.between(1, 90)}\n{name} = "{secret}"\n\n\n'
        f"def client():\n    return Client({name}, timeout=TIMEOUT)\n"
    )


def javascript(draw: Draw, name: str, secret: str) -> str:
    """A JavaScript constant."""
    return f"import fetch from 'node-fetch';\n\nconst {name} = '{secret}';\n\nexport default () => fetch('https://{draw.host()}');\n"


def yaml(draw: Draw, name: str, secret: str) -> str:
    """A YAML file."""
    return (
        f"service: {draw.service()}\nreplicas: {draw.between(1, 9)}\nenv:\n  LOG_LEVEL: debug\n  {name}: {secret}\n"
        f"hosts:\n  - {draw.host()}\n"
    )


def json_file(draw: Draw, name: str, secret: str) -> str:
    """A JSON file."""
    return json.dumps({"url": f"https://{draw.host()}", name: secret, "verbose": False}, indent=2) + "\n"


def shell(draw: Draw, name: str, secret: str) -> str:
    """A shell script."""
    return f'#!/bin/bash\nset -euo pipefail\nexport {name}={secret}\n./{draw.word()}.sh --env staging "$@"\n'


def inline_variable(draw: Draw, name: str, secret: str) -> str:
    """A variable for one command."""
    return f"{name}='{secret}' npx {draw.word()}-cli publish --tag next\n"


def added_line(draw: Draw, name: str, secret: str) -> str:
    """A diff that brings the secret in."""
    return (
        f"diff --git a/app.env b/app.env\nindex {draw.chars(HEX, 8)}..{draw.chars(HEX, 8)} 100644\n--- a/app.env\n+++ b/app.env\n"
        f"@@ -1,2 +1,3 @@\n HOST={draw.host()}\n+{name}={secret}\n PORT=80\n"
    )


def nested(draw: Draw, name: str, secret: str) -> str:
    """A file written by an agent, as JSON text: line ends and quotes are escaped."""
    return json.dumps({"path": f"src/{draw.word()}.py", "text": f'import os\n{name} = "{secret}"\nDEBUG = True\n'})


def log_line(draw: Draw, name: str, secret: str) -> str:
    """A line of a log, the secret on its own."""
    return f"2025-02-{draw.between(10, 28)}T10:15:32Z WARN {draw.service()}: rejected {secret} from 10.0.0.{draw.between(1, 254)}\n"


def prompt(draw: Draw, name: str, secret: str) -> str:
    """A prompt."""
    return f"please use {secret} to call the {draw.service()} API and list all {draw.word()}s, then write a test for it"


def markdown(draw: Draw, name: str, secret: str) -> str:
    """A page of documentation."""
    return f"## {draw.word().capitalize()}\n\nRun it with `{secret}` as the first argument:\n\n- works on Linux\n- works on macOS\n"


def curl(draw: Draw, name: str, secret: str) -> str:
    """A request."""
    return f'curl -s https://{draw.host()}/v1/me \\\n  -H "Authorization: Bearer {secret}" \\\n  -H "Accept: application/json"\n'


def nested_bare(draw: Draw, name: str, secret: str) -> str:
    """A secret on a line of its own, in JSON text: an escaped line end stands right before it."""
    return json.dumps({"stdout": f"{draw.word()} ok\n{secret}\n{draw.word()} done\n", "exit": 0})


def table(draw: Draw, name: str, secret: str) -> str:
    """A cell of a table in a terminal."""
    return f"| name | value | age |\n|---|---|---|\n| {draw.word()} | {secret} | {draw.between(1, 90)}d |\n"


PLACES = Places(
    named=(
        env_file,
        quoted_env_file,
        python,
        javascript,
        yaml,
        json_file,
        shell,
        inline_variable,
        added_line,
        nested,
    ),
    bare=(log_line, prompt, markdown, curl, nested_bare, table),
)
