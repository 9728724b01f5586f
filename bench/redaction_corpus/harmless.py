"""Harmless texts of the seen half."""

import json
from collections.abc import Callable

from bench.redaction_corpus import sentences
from bench.redaction_corpus.draw import BASE62, BASE64, DIGITS, HEX, UPPER, Draw
from bench.redaction_corpus.frame import Harmless, HarmlessKind
from bench.redaction_corpus.installed import some_lines

SEEN_HALF = 0


def library(draw: Draw) -> Harmless:
    """The seen half of the standard library."""
    return some_lines(draw, SEEN_HALF)


def package_lock(draw: Draw) -> Harmless:
    """A lock file of npm."""
    sums = ["sha512-" + draw.bytes_base64(64) for _ in range(25)]
    packages = {
        f"node_modules/{draw.word()}-{draw.word()}-{n}": {
            "version": f"{draw.between(0, 9)}.{draw.between(0, 30)}.{n}",
            "resolved": f"https://registry.npmjs.org/{draw.word()}/-/{draw.word()}-1.0.{n}.tgz",
            "integrity": one,
        }
        for n, one in enumerate(sums)
    }
    return Harmless(json.dumps({"lockfileVersion": 3, "packages": packages}, indent=2) + "\n", tuple(sums))


def pnpm_lock(draw: Draw) -> Harmless:
    """A lock file of pnpm."""
    sums = ["sha512-" + draw.bytes_base64(64) for _ in range(25)]
    text = "".join(
        f"  /{draw.word()}@{n}.0.1:\n    resolution: {{integrity: {one}}}\n    dev: true\n"
        for n, one in enumerate(sums)
    )
    return Harmless("lockfileVersion: '9.0'\npackages:\n" + text, tuple(sums))


def poetry_lock(draw: Draw) -> Harmless:
    """A lock file of Python packages."""
    sums = ["sha256:" + draw.chars(HEX, 64) for _ in range(30)]
    text = "".join(
        f'    {{file = "{draw.word()}-{n}.0-py3-none-any.whl", hash = "{one}"}},\n' for n, one in enumerate(sums)
    )
    return Harmless(f'[[package]]\nname = "{draw.word()}"\nfiles = [\n{text}]\n', tuple(sums))


def requirements(draw: Draw) -> Harmless:
    """Requirements with hashes."""
    sums = ["sha256:" + draw.chars(HEX, 64) for _ in range(30)]
    text = "".join(f"{draw.word()}=={n}.{draw.between(0, 9)} \\\n    --hash={one}\n" for n, one in enumerate(sums))
    return Harmless(text, tuple(sums))


def diff(draw: Draw) -> Harmless:
    """A change of code that has to do with tokens."""
    ids = (draw.chars(HEX, 40), draw.chars(HEX, 40))
    text = (
        f"From {ids[0]} Mon Sep 17 00:00:00 2001\nSubject: [PATCH] {draw.service()}: keep the token\n\ndiff --git a/lexer.py b/lexer.py\n"
        f"index {ids[1]}..{draw.chars(HEX, 40)} 100644\n--- a/lexer.py\n+++ b/lexer.py\n@@ -10,7 +10,8 @@ class Lexer:\n"
        "     def next_token(self):\n-        token = self.tokens.pop(0)\n+        token = self.tokens.popleft()\n"
        "+        self.last_token = token or Token(EOF, None)\n         if token.type == 'string':\n"
        "-            password = getpass.getpass('Password: ')\n+            password = options.password or getpass.getpass()\n"
        "         return token\n"
    )
    return Harmless(text, ids)


def uuids(draw: Draw) -> Harmless:
    """A list of ids."""
    ids = [draw.uuid() for _ in range(60)]
    return Harmless("".join(f"{one}\n" for one in ids), tuple(ids))


def wrapped_picture(draw: Draw) -> Harmless:
    """A picture in base64, in lines."""
    return Harmless("Content-Transfer-Encoding: base64\n\n" + draw.wrapped(draw.bytes_base64(900), 76) + "\n")


def source_map(draw: Draw) -> Harmless:
    """Where minified code comes from."""
    steps = ";".join(
        ",".join(draw.chars(BASE64, draw.random.choice((4, 4, 5, 8))) for _ in range(20)) for _ in range(10)
    )
    return Harmless(json.dumps({"version": 3, "sources": [f"../src/{draw.word()}.ts"], "names": [], "mappings": steps}))


def readme(draw: Draw) -> Harmless:
    """Documentation that tells where secrets go."""
    return Harmless(
        f"# {draw.service()}\n\nSet `API_KEY` to your key:\n\n```sh\nexport API_KEY=<your-api-key>\nexport DB_PASSWORD=${{DB_PASSWORD}}\n"
        f"{draw.word()} login --token $TOKEN --password-stdin\n```\n\n| option | default | meaning |\n|---|---|---|\n"
        "| `password` | none | the password of the database user |\n| `token_ttl` | `3600` | seconds until a token expires |\n\n"
        "Never commit a password: use a secret store. Tokens are valid for 30 days; the secret is rotated weekly.\n"
        'Authenticate with `Authorization: Bearer <token>` or `curl -u "$USER:$PASSWORD" https://api.example.com`.\n'
        "The key: simplicity. Password: see above. Token: a word of the language.\n"
    )


def python_trace(draw: Draw) -> Harmless:
    """A traceback."""
    frames = "".join(
        f'  File "/usr/lib/python3/dist-packages/{draw.service()}/{draw.word()}_token_provider.py", line {draw.between(1, 900)}, in '
        f"get_{draw.word()}_token\n    token = self._fetch_token(password=password, secret=self.secret)\n"
        for _ in range(20)
    )
    return Harmless(f"Traceback (most recent call last):\n{frames}KeyError: 'password'\n")


def xxd(draw: Draw) -> Harmless:
    """Bytes as ``xxd`` shows them."""
    rows = []
    for offset in range(0, 1600, 16):
        row = draw.random.randbytes(16)
        pairs = " ".join(row[at : at + 2].hex() for at in range(0, 16, 2))
        rows.append(f"{offset:08x}: {pairs}  {''.join(chr(b) if 32 <= b < 127 else '.' for b in row)}\n")
    return Harmless("".join(rows))


def json_schema(draw: Draw) -> Harmless:
    """A schema with secret-like properties."""
    schema = {
        "$id": f"https://{draw.host()}/schema.json",
        "type": "object",
        "properties": {
            "password": {"type": "string", "format": "password", "description": "The password of the user"},
            "token": {"type": ["string", "null"], "default": None},
            "api_key": {"$ref": "#/definitions/apiKey"},
            "secret": {"type": "string", "minLength": 8, "example": "string"},
        },
        "required": ["password", "token"],
    }
    return Harmless(json.dumps(schema, indent=2) + "\n")


def python_code(draw: Draw) -> Harmless:
    """Code that handles secrets and holds none."""
    name = draw.word()
    return Harmless(
        f"import os\nfrom getpass import getpass\n\nSECRET_KEY = os.environ['SECRET_KEY']\nAPI_KEY = os.getenv('{name.upper()}_API_KEY')\n"
        "PASSWORD_MIN_LENGTH = 12\nTOKEN_URL = 'https://auth.example.com/oauth/token'\n\n\n"
        "class LoginForm(Form):\n    password = PasswordField('Password', validators=[InputRequired()])\n    token = HiddenField()\n\n\n"
        "def login(username: str, password: str, token: str | None = None) -> Session:\n"
        f"    secret = load_secret('{name}')\n    key = cache_key(username)\n    hashed = hash_password(password, salt=salt)\n"
        "    session = Session(user=username, password=password, token=token)\n    if token == expected_token:\n        return session\n"
        "    password = password or getpass('Password: ')\n    self.token = response.json()['access_token']\n"
        "    headers = {'Authorization': f'Bearer {self.token}', 'X-Api-Key': API_KEY}\n"
        "    assert user.check_password(password), 'wrong password'\n    return authenticate(username=username, password=password)\n"
    )


def java_code(draw: Draw) -> Harmless:
    """Java that handles secrets and holds none."""
    name = draw.word().capitalize()
    return Harmless(
        f"public final class {name}Credentials {{\n    private final String password;\n    private final char[] secretKey;\n"
        f'    private static final String PASSWORD_KEY = "password";\n    @Value("${{{name.lower()}.api-key}}")\n    private String apiKey;\n\n'
        f"    public {name}Credentials(String password, char[] secretKey) {{\n        this.password = Objects.requireNonNull(password);\n"
        "        this.secretKey = secretKey.clone();\n    }\n\n    public String getPassword() { return password; }\n"
        "    public void setToken(Token token) { this.token = token; }\n    // token: the current token of the parser\n"
        "    Token token = lexer.nextToken(TokenType.IDENTIFIER, Mode.DEFAULT);\n    String key = map.keySet().iterator().next();\n}\n"
    )


def go_code(draw: Draw) -> Harmless:
    """Go that handles secrets and holds none."""
    return Harmless(
        f'package {draw.word()}\n\ntype Config struct {{\n\tPassword string `json:"password" yaml:"password"`\n\tToken    string `env:"TOKEN,required"`\n'
        '\tAPIKey   *string\n}\n\nfunc (c *Config) Validate() error {\n\tif c.Password == "" || c.Token == "" {\n'
        '\t\treturn errors.New("password and token are required")\n\t}\n\ttoken, err := jwt.Parse(c.Token, keyFunc)\n'
        '\tpassword := os.Getenv("DB_PASSWORD")\n\tsecret := flag.String("secret", "", "the shared secret")\n\treturn err\n}\n'
    )


def compose_references(draw: Draw) -> Harmless:
    """A compose file that refers to variables."""
    return Harmless(
        f"services:\n  {draw.service()}:\n    environment:\n      POSTGRES_PASSWORD: ${{POSTGRES_PASSWORD}}\n      API_TOKEN: ${{API_TOKEN:?missing}}\n"
        "      DB_PASSWORD_FILE: /run/secrets/db_password\n    secrets:\n      - db_password\nsecrets:\n  db_password:\n    file: ./db_password.txt\n"
    )


def workflow(draw: Draw) -> Harmless:
    """A workflow that refers to secrets."""
    ids = (draw.chars(HEX, 40),)
    return Harmless(
        f"name: {draw.word()}\non: [push]\npermissions:\n  id-token: write\njobs:\n  build:\n    steps:\n      - uses: actions/checkout@{ids[0]}\n"
        "        with:\n          token: ${{ secrets.GITHUB_TOKEN }}\n          ssh-key: ${{ secrets.DEPLOY_KEY }}\n      - uses: actions/cache@v4\n"
        "        with:\n          key: ${{ runner.os }}-pip-${{ hashFiles('**/requirements.txt') }}\n          restore-keys: ${{ runner.os }}-pip-\n"
        '      - run: echo "::add-mask::$PASSWORD"\n        env:\n          PASSWORD: ${{ secrets.PASSWORD }}\n',
        ids,
    )


def public_pgp(draw: Draw) -> Harmless:
    """A key for everybody, and a signature."""
    blocks = "".join(
        f"-----BEGIN PGP {label}-----\n\n{draw.wrapped(draw.bytes_base64(500))}\n={draw.chars(BASE64, 4)}\n-----END PGP {label}-----\n"
        for label in ("PUBLIC KEY BLOCK", "SIGNATURE")
    )
    return Harmless(blocks)


def response_headers(draw: Draw) -> Harmless:
    """What a server answers."""
    return Harmless(
        f'HTTP/2 200\ndate: Tue, 04 Mar 2025 10:15:32 GMT\netag: W/"{draw.chars(BASE64, 27)}"\nx-request-id: {draw.uuid()}\n'
        f"x-amz-cf-id: {draw.chars(HEX, 56)}\ncontent-security-policy: script-src 'sha256-{draw.bytes_base64(32)}'\nvary: Authorization\n"
        'www-authenticate: Bearer realm="api", error="invalid_token"\naccess-control-allow-headers: Authorization, X-Api-Key\n'
    )


def symbols(draw: Draw) -> Harmless:
    """Names as compilers make them."""
    rows = "".join(
        f"{draw.chars(HEX, 16)} T _ZNSt6vectorI{draw.between(3, 9)}{draw.word()}SaIS{draw.between(0, 9)}_EE{draw.between(9, 20)}_M_realloc_insertI"
        f"JRKS{draw.between(0, 3)}_EEEvN9__gnu_cxx17__normal_iteratorIPS1_S3_EEDpOT_\n"
        f"{draw.chars(HEX, 16)} t _ZN4core3fmt9Formatter{draw.between(10, 30)}{draw.word()}_struct_field2_finish17h{draw.chars(HEX, 16)}E\n"
        for _ in range(20)
    )
    return Harmless(rows)


def import_map(draw: Draw) -> Harmless:
    """Where a page's modules are."""
    entries = {
        f"@{draw.word()}/{draw.word()}-{n}": f"/assets/{draw.word()}-{draw.chars(BASE62, 8)}.js" for n in range(40)
    }
    return Harmless(json.dumps({"imports": entries}, indent=2))


def long_names(draw: Draw) -> Harmless:
    """Identifiers in every fashion."""

    def camel() -> str:
        return draw.word() + "".join(draw.word().capitalize() for _ in range(draw.between(2, 5)))

    def snake() -> str:
        return "_".join(draw.word() for _ in range(draw.between(3, 7))) + draw.one("", "_v2", "_2024", "_utf8")

    rows = (
        f"{draw.one('const', 'let', 'def', 'val')} {camel()}{draw.one('', 'Http2', 'V3', 'Sha256')} = {snake()}.{camel()}\n"
        for _ in range(60)
    )
    return Harmless("".join(rows) + f"test('{snake()} {camel()}', () => {{}})\n")


def paths(draw: Draw) -> Harmless:
    """Files of a build."""
    rows = (
        f"{draw.one('/home', '/usr/share', 'C:/Users', './node_modules')}/{draw.person()}/{draw.word()}/{draw.service()}-{draw.between(1, 9)}."
        f"{draw.between(0, 30)}/{draw.word().capitalize()}{draw.word().capitalize()}Test2.class.{draw.chars(HEX, 8)}.js\n"
        for _ in range(60)
    )
    return Harmless("".join(rows))


def identifiers(draw: Draw) -> Harmless:
    """Resources of a cloud: long, odd, public."""
    rows = (
        f"arn:aws:iam::{draw.chars(DIGITS, 12)}:role/{draw.word()}-{draw.service()} vpc-0{draw.chars(HEX, 16)} "
        f"{draw.service()}-{draw.chars(HEX, 10)}-{draw.chars('bcdfghjklmnpqrstvwxz2456789', 5)} 0x{draw.chars(HEX, 40)} "
        f"{draw.chars(UPPER, 4)}-{draw.between(1, 9999)} 2025-03-04T10:15:32.{draw.chars(DIGITS, 6)}Z\n"
        for _ in range(30)
    )
    return Harmless("".join(rows))


def docstrings(draw: Draw) -> Harmless:
    """What is written about passwords, in every form in which they are written down."""
    name = draw.word()
    return Harmless(
        f"Log in to {name}.\n\nArgs:\n    password: the user's password\n    passphrase: what the key was encrypted with\n"
        "    secret (str): shared with the client\n    password: plain text sent over a secure channel\n\n"
        "fields:\n  password: Must be at least eight characters\n  password_hint: shown below the form\n"
        '{"password": "Choose something nobody else knows", "secret": "only shown once after creation"}\n'
        "errors = {'password': 'is too short', 'passphrase': 'does not match'}\npassword: str = Field(description='as typed')\n"
        "Password: see above for how it is stored.\npassword = getpass('Your password: ')\n"
    )


TEXTS: tuple[Callable[[Draw], Harmless], ...] = (
    library,
    package_lock,
    pnpm_lock,
    poetry_lock,
    requirements,
    diff,
    uuids,
    wrapped_picture,
    source_map,
    readme,
    python_trace,
    xxd,
    json_schema,
    python_code,
    java_code,
    go_code,
    compose_references,
    workflow,
    public_pgp,
    response_headers,
    symbols,
    import_map,
    long_names,
    paths,
    identifiers,
    docstrings,
)

HARMLESS = tuple(HarmlessKind(text.__name__.replace("_", "-"), text) for text in TEXTS) + sentences.HARMLESS
