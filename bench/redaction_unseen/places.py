"""Surroundings that the seen half does not have."""

import json

from bench.redaction_corpus.draw import BASE62, HEX, Draw
from bench.redaction_corpus.frame import Places


def dockerfile(draw: Draw, name: str, secret: str) -> str:
    """An ``ENV`` line among others."""
    return (
        f"FROM python:3.12-slim\nWORKDIR /srv/{draw.service()}\nCOPY requirements.txt .\n"
        f"ENV PORT={draw.between(3000, 9000)} \\\n    {name}={secret}\nRUN pip install -r requirements.txt\n"
        f'CMD ["python", "-m", "{draw.service()}"]\n'
    )


def go_constant(draw: Draw, name: str, secret: str) -> str:
    """A constant of a Go package."""
    camel = "".join(part.capitalize() for part in name.lower().split("_"))
    return (
        f'package {draw.service()}\n\nimport "net/http"\n\nconst (\n\tdefaultTimeout = {draw.between(5, 60)}\n'
        f'\t{camel} = "{secret}"\n)\n\nfunc NewClient() *http.Client {{\n\treturn &http.Client{{}}\n}}\n'
    )


def kotlin(draw: Draw, name: str, secret: str) -> str:
    """A property of a Kotlin object."""
    return (
        f'object {draw.word().capitalize()}Config {{\n    const val BASE_URL = "https://{draw.host()}/v2"\n'
        f'    const val {name} = "{secret}"\n    const val RETRIES = {draw.between(1, 9)}\n}}\n'
    )


def powershell(draw: Draw, name: str, secret: str) -> str:
    """A PowerShell profile."""
    return (
        f"Set-Location C:\\src\\{draw.service()}\n$env:{name} = '{secret}'\n"
        f"dotnet run --project .\\{draw.service()}.csproj --no-build\n"
    )


def compose_list(draw: Draw, name: str, secret: str) -> str:
    """The list form of a compose file's environment."""
    return (
        f"services:\n  {draw.service()}:\n    image: registry.example.com/{draw.service()}:1.{draw.between(0, 40)}\n"
        f"    environment:\n      - LOG_LEVEL=info\n      - {name}={secret}\n    restart: unless-stopped\n"
    )


def toml(draw: Draw, name: str, secret: str) -> str:
    """A section of a TOML file."""
    return (
        f'[{draw.service()}]\nurl = "https://{draw.host()}"\n{name.lower()} = "{secret}"\n'
        f"timeout_seconds = {draw.between(1, 90)}\n"
    )


def makefile(draw: Draw, name: str, secret: str) -> str:
    """A variable of a Makefile."""
    return f"{name} ?= {secret}\n\ndeploy:\n\t./deploy.sh --region eu-west-{draw.between(1, 3)}\n\n.PHONY: deploy\n"


def ruby(draw: Draw, name: str, secret: str) -> str:
    """A Ruby initializer."""
    return (
        f"require '{draw.service()}'\n\n{draw.service().capitalize()}.configure do |config|\n"
        f"  config.{name.lower()} = '{secret}'\n  config.open_timeout = {draw.between(1, 30)}\nend\n"
    )


def rust(draw: Draw, name: str, secret: str) -> str:
    """A Rust constant."""
    return f'use std::time::Duration;\n\npub const {name}: &str = "{secret}";\npub const RETRIES: u32 = 3;\n'


def tool_input(draw: Draw, name: str, secret: str) -> str:
    """A settings file written by an agent, as the JSON text of its tool call: escaped once more."""
    inner = json.dumps({"url": f"https://{draw.host()}", name.lower(): secret, "retries": 3}, indent=2)
    return json.dumps({"file_path": f"config/{draw.service()}.json", "content": inner + "\n"})


def traceback(draw: Draw, name: str, secret: str) -> str:
    """A log with a traceback that shows local variables."""
    line = draw.between(10, 400)
    return (
        f'Traceback (most recent call last):\n  File "/srv/{draw.service()}/client.py", line {line}, in connect\n'
        f"    self.session.get(url)\nlocals: {{'{name.lower()}': '{secret}', 'attempt': {draw.between(1, 5)}}}\n"
        "ConnectionError: the server closed the connection\n"
    )


def removed_line(draw: Draw, name: str, secret: str) -> str:
    """A diff that takes the secret out: it is still in it."""
    return (
        f"diff --git a/settings.py b/settings.py\nindex {draw.chars(HEX, 7)}..{draw.chars(HEX, 7)} 100644\n"
        f"--- a/settings.py\n+++ b/settings.py\n@@ -{draw.between(1, 90)},4 +{draw.between(1, 90)},4 @@\n"
        f' DEBUG = False\n-{name} = "{secret}"\n+{name} = os.environ["{name}"]\n ALLOWED_HOSTS = []\n'
    )


def chat_message(draw: Draw, name: str, secret: str) -> str:
    """What somebody pastes into a prompt."""
    return (
        f"Hi, deploying {draw.service()} fails with 401 since this morning. {draw.person().capitalize()} gave me a new"
        f" one, {secret} , can you put it where it belongs and run the smoke test again? Thanks!"
    )


def terminal(draw: Draw, name: str, secret: str) -> str:
    """Terminal output."""
    return (
        f"{draw.person()}@{draw.word()}:~/src/{draw.service()}$ cat /run/credentials/{draw.service()}\n{secret}\n"
        f"{draw.person()}@{draw.word()}:~/src/{draw.service()}$ git status --short\n M src/{draw.word()}.py\n"
    )


def request_log(draw: Draw, name: str, secret: str) -> str:
    """A debug log of a request."""
    return (
        f"DEBUG http: connect {draw.host()}:443\nDEBUG http: > GET /v1/{draw.word()}s HTTP/1.1\n"
        f"DEBUG http: > Authorization: Bearer {secret}\nDEBUG http: > Accept: */*\nDEBUG http: < HTTP/1.1 200 OK\n"
    )


def csv_row(draw: Draw, name: str, secret: str) -> str:
    """One cell of a table."""
    return (
        f"id,owner,value,created\n{draw.between(1, 99)},{draw.person()},{secret},2025-03-{draw.between(10, 28)}\n"
        f"{draw.between(100, 199)},{draw.person()},,2025-04-{draw.between(10, 28)}\n"
    )


def comment(draw: Draw, name: str, secret: str) -> str:
    """A comment left behind in code."""
    return (
        f"export async function load{draw.word().capitalize()}(id: string) {{\n  // works with {secret}, ask"
        f" {draw.person()} before rotating\n  return await client.get(`/{draw.word()}/${{id}}`);\n}}\n"
    )


def command_argument(draw: Draw, name: str, secret: str) -> str:
    """A positional argument."""
    return f"cd services/{draw.service()} && ./bin/{draw.word()}-login {secret} && make {draw.word()}\n"


def js_environment(draw: Draw, name: str, secret: str) -> str:
    """A JavaScript settings object with a camel-case name."""
    first, *rest = name.lower().split("_")
    camel = first + "".join(part.capitalize() for part in rest)
    return (
        f"export const settings = {{\n  baseUrl: 'https://{draw.host()}',\n  {camel}: '{secret}',\n"
        f"  pageSize: {draw.between(10, 100)},\n}};\n"
    )


def session_id(draw: Draw) -> str:
    """An identifier that is no secret, for realistic neighbours."""
    return draw.chars(BASE62, 8)


PLACES = Places(
    named=(
        dockerfile,
        go_constant,
        kotlin,
        powershell,
        compose_list,
        toml,
        makefile,
        ruby,
        rust,
        tool_input,
        traceback,
        removed_line,
        js_environment,
    ),
    bare=(chat_message, terminal, request_log, csv_row, comment, command_argument),
)
