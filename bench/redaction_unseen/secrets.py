"""The unseen kinds, by family. The shapes are those that the services publish; every secret is made up."""

import base64
import json

from bench.redaction_corpus.draw import BASE32, BASE36, BASE62, BASE64, BASE64URL, DIGITS, HEX, LOWER, UPPER, Draw
from bench.redaction_corpus.frame import Kind, Sample, in_places, written
from bench.redaction_unseen import sentences
from bench.redaction_unseen.places import PLACES


def token(family: str, name: str, variable: str, *, alone: bool = True) -> "TokenKind":
    """A kind with one token, still without its shape."""
    return TokenKind(family, name, variable, alone)


class TokenKind:
    """Waits for its shape: a prefix, an alphabet, a length; further parts may follow."""

    def __init__(self, family: str, name: str, variable: str, alone: bool) -> None:
        self._family, self._name, self._variable, self._alone = family, name, variable, alone

    def of(self, *parts: str | tuple[str, int]) -> Kind:
        """Literal parts, and parts drawn from an alphabet."""

        def make(draw: Draw) -> str:
            return "".join(part if isinstance(part, str) else draw.chars(*part) for part in parts)

        return in_places(self._family, self._name, PLACES, self._variable, make, alone=self._alone)


CLOUD = (
    token("cloud", "cloudflare-token", "CLOUDFLARE_API_TOKEN", alone=False).of((BASE64URL, 40)),
    token("cloud", "render-key", "RENDER_API_KEY").of("rnd_", (BASE62, 32)),
    token("cloud", "aws-access-key-id", "AWS_ACCESS_KEY_ID").of("AKIA", (BASE32, 16)),
    token("cloud", "digitalocean-token", "DIGITALOCEAN_TOKEN").of("dop_v1_", (HEX, 64)),
    in_places("cloud", "heroku-key", PLACES, "HEROKU_API_KEY", lambda draw: draw.uuid(), alone=False),
    token("cloud", "netlify-token", "NETLIFY_AUTH_TOKEN").of("nfp_", (BASE62, 36)),
    token("cloud", "gcp-api-key", "GOOGLE_MAPS_API_KEY").of("AIza", (BASE64URL, 35)),
    token("cloud", "linode-token", "LINODE_TOKEN", alone=False).of((HEX, 64)),
    token("cloud", "vercel-token", "VERCEL_TOKEN", alone=False).of((BASE62, 24)),
    token("cloud", "hetzner-token", "HCLOUD_TOKEN").of((BASE62, 64)),
    in_places("cloud", "fly-token", PLACES, "FLY_API_TOKEN", lambda d: "fm2_" + d.bytes_base64(d.between(90, 130))),
    in_places(
        "cloud",
        "aws-session-token",
        PLACES,
        "AWS_SESSION_TOKEN",
        lambda d: "IQoJb3JpZ2luX2Vj" + d.bytes_base64(d.between(240, 300)),
        alone=False,
    ),
    token("cloud", "planetscale-token", "PLANETSCALE_SERVICE_TOKEN").of("pscale_tkn_", (BASE64URL, 43)),
)

HOST = (
    token("host", "github-classic", "GITHUB_TOKEN").of("ghp" + "_", (BASE62, 36)),
    token("host", "gitea-token", "GITEA_TOKEN", alone=False).of((HEX, 40)),
    token("host", "gitlab-pat", "GITLAB_TOKEN").of("glpat" + "-", (BASE64URL, 20)),
    token("host", "github-fine-grained", "GH_TOKEN").of("github" + "_pat_", (BASE62, 22), "_", (BASE62, 59)),
    token("host", "bitbucket-repo-token", "BITBUCKET_ACCESS_TOKEN").of(
        "ATCTT3xFfGN0", (BASE64URL, 156), "=", (UPPER + DIGITS, 8)
    ),
    token("host", "azure-devops-pat", "AZURE_DEVOPS_EXT_PAT", alone=False).of((LOWER + "234567", 52)),
)


def docker_config(draw: Draw, secret: str) -> str:
    """The credentials file of a container client."""
    return json.dumps({"auths": {f"https://{draw.host()}/v1/": {"auth": secret}}, "credsStore": ""}, indent=2) + "\n"


def user_and_password(draw: Draw) -> str:
    """``user:password`` in base64."""
    return base64.b64encode(f"{draw.person()}:{draw.password()}".encode()).decode()


def npmrc(draw: Draw, secret: str) -> str:
    """The older way to sign in to a registry."""
    return f"registry=https://{draw.host()}/npm/\n_auth={secret}\nemail={draw.person()}@example.com\nalways-auth=true\n"


REGISTRY = (
    token("registry", "npm-token", "NPM_TOKEN").of("npm" + "_", (BASE62, 36)),
    in_places(
        "registry",
        "pypi-token",
        PLACES,
        "TWINE_PASSWORD",
        lambda d: "pypi-" + "AgEIcHlwaS5vcmc" + d.bytes_base64url(d.between(90, 120)),
    ),
    written("registry", "docker-config-auth", docker_config, user_and_password),
    written("registry", "npmrc-legacy-auth", npmrc, user_and_password),
    token("registry", "clojars-token", "CLOJARS_PASSWORD").of("CLOJARS_", (HEX, 60)),
)


def slack_hook(draw: Draw, secret: str) -> str:
    """A shell script that tells a channel."""
    url = (
        f"https://hooks.slack.com/services/T{draw.chars(UPPER + DIGITS, 10)}/B{draw.chars(UPPER + DIGITS, 10)}/{secret}"
    )
    return f"#!/bin/sh\ncurl -sS -X POST -H 'Content-type: application/json' --data '{{\"text\":\"deployed\"}}' {url}\n"


def teams_hook(draw: Draw, secret: str) -> str:
    """A connector of a channel."""
    url = (
        f"https://{draw.word()}.webhook.office.com/webhookb2/{draw.uuid()}@{draw.uuid()}/IncomingWebhook/{secret}/"
        f"{draw.uuid()}"
    )
    return f"notifications:\n  teams:\n    url: {url}\n    events: [deploy, rollback]\n"


CHAT = (
    in_places(
        "chat",
        "telegram-bot",
        PLACES,
        "TELEGRAM_BOT_TOKEN",
        lambda d: f"{d.between(10**8, 10**10)}:AA" + d.chars(BASE64URL, 33),
    ),
    in_places(
        "chat",
        "matrix-token",
        PLACES,
        "MATRIX_ACCESS_TOKEN",
        lambda d: (
            f"syt_{base64.b64encode(d.word().encode()).decode().rstrip('=')}_{d.chars(BASE62, 20)}_{d.chars(BASE62, 6)}"
        ),
    ),
    in_places(
        "chat",
        "discord-bot",
        PLACES,
        "DISCORD_TOKEN",
        lambda d: (
            base64.b64encode(str(d.between(10**17, 10**18)).encode()).decode().rstrip("=")
            + "."
            + d.chars(BASE64URL, 6)
            + "."
            + d.chars(BASE64URL, 38)
        ),
    ),
    token("chat", "mattermost-token", "MATTERMOST_TOKEN", alone=False).of((BASE36, 26)),
    written("chat", "slack-webhook", slack_hook, lambda draw: draw.chars(BASE62, 24)),
    written("chat", "teams-webhook", teams_hook, lambda draw: draw.chars(HEX, 32)),
)

PAYMENT = (
    token("payment", "gocardless-token", "GOCARDLESS_ACCESS_TOKEN").of("live_", (BASE64URL, 40)),
    token("payment", "adyen-key", "ADYEN_API_KEY").of("AQE", (BASE64, 113), "-", (BASE64, 43), "=-", (BASE62, 16)),
    token("payment", "stripe-restricted", "STRIPE_RESTRICTED_KEY").of("rk" + "_live_", (BASE62, 99)),
    in_places(
        "payment",
        "plaid-token",
        PLACES,
        "PLAID_ACCESS_TOKEN",
        lambda d: f"access-{d.one('sandbox', 'production')}-{d.uuid()}",
    ),
    token("payment", "stripe-secret", "STRIPE_SECRET_KEY").of("sk" + "_live_", (BASE62, 24)),
    token("payment", "braintree-token", "BRAINTREE_ACCESS_TOKEN").of(
        "access_token$production$", (BASE36, 16), "$", (HEX, 32)
    ),
)

MODEL = (
    token("model", "openai-project", "OPENAI_API_KEY").of(
        "sk-" + "proj-", (BASE64URL, 74), "T3BlbkFJ", (BASE64URL, 74)
    ),
    token("model", "langsmith-key", "LANGSMITH_API_KEY").of("lsv2_pt_", (HEX, 32), "_", (HEX, 10)),
    token("model", "openai-classic", "OPENAI_API_KEY").of("sk-", (BASE62, 20), "T3BlbkFJ", (BASE62, 20)),
    token("model", "openrouter-key", "OPENROUTER_API_KEY").of("sk-or-v1-", (HEX, 64)),
    token("model", "wandb-key", "WANDB_API_KEY", alone=False).of((HEX, 40)),
    token("model", "pinecone-key", "PINECONE_API_KEY").of("pcsk_", (BASE62, 6), "_", (BASE62, 63)),
    token("model", "cohere-key", "CO_API_KEY", alone=False).of((BASE62, 40)),
    token("model", "groq-key", "GROQ_API_KEY").of("gsk_", (BASE62, 52)),
)

SAAS = (
    in_places(
        "saas", "onepassword-token", PLACES, "OP_SERVICE_ACCOUNT_TOKEN", lambda d: "ops_eyJ" + d.chars(BASE62, 300)
    ),
    in_places(
        "saas",
        "mapbox-token",
        PLACES,
        "MAPBOX_SECRET_TOKEN",
        lambda d: "sk.eyJ1Ijoi" + d.chars(BASE62, 70) + "." + d.chars(BASE64URL, 22),
    ),
    token("saas", "airtable-token", "AIRTABLE_PAT").of("pat", (BASE62, 14), ".", (HEX, 64)),
    token("saas", "grafana-token", "GRAFANA_TOKEN").of("glsa_", (BASE62, 32), "_", (HEX, 8)),
    in_places(
        "saas", "hubspot-token", PLACES, "HUBSPOT_ACCESS_TOKEN", lambda d: f"pat-{d.one('na1', 'eu1')}-{d.uuid()}"
    ),
    token("saas", "datadog-api-key", "DD_API_KEY", alone=False).of((HEX, 32)),
    token("saas", "newrelic-key", "NEW_RELIC_API_KEY").of("NRAK-", (UPPER + DIGITS, 27)),
    token("saas", "contentful-token", "CONTENTFUL_MANAGEMENT_TOKEN").of("CFPAT-", (BASE64URL, 43)),
    in_places("saas", "snyk-token", PLACES, "SNYK_TOKEN", lambda draw: draw.uuid(), alone=False),
    in_places(
        "saas",
        "asana-token",
        PLACES,
        "ASANA_ACCESS_TOKEN",
        lambda d: f"2/{d.between(10**15, 10**16)}/{d.between(10**15, 10**16)}:{d.chars(HEX, 32)}",
    ),
    token("saas", "terraform-token", "TFE_TOKEN").of((BASE62, 14), ".atlasv1.", (BASE62, 67)),
    token("saas", "okta-token", "OKTA_API_TOKEN", alone=False).of("00", (BASE64URL, 40)),
    token("saas", "buildkite-token", "BUILDKITE_API_TOKEN").of("bkua_", (HEX, 40)),
    in_places(
        "saas",
        "sentry-token",
        PLACES,
        "SENTRY_AUTH_TOKEN",
        lambda d: "sntrys_eyJpYXQiO" + d.chars(BASE62, 120) + "=_" + d.chars(BASE62, 43),
    ),
    token("saas", "facebook-token", "FB_PAGE_ACCESS_TOKEN").of("EAAC", (BASE62, 170)),
    token("saas", "doppler-token", "DOPPLER_TOKEN").of("dp.pt.", (BASE62, 43)),
    token("saas", "mailgun-key", "MAILGUN_API_KEY").of("key-", (HEX, 32)),
    in_places("saas", "launchdarkly-key", PLACES, "LAUNCHDARKLY_SDK_KEY", lambda draw: "sdk-" + draw.uuid()),
    token("saas", "pulumi-token", "PULUMI_ACCESS_TOKEN").of("pul-", (HEX, 40)),
)


def block(label: str, bytes_count: int, headers: str = "") -> "BlockKind":
    """A private key between its marks."""
    return BlockKind(label, bytes_count, headers)


class BlockKind:
    """A block of base64 with its marks; every line of the body is secret."""

    def __init__(self, label: str, bytes_count: int, headers: str) -> None:
        self.label, self._count, self._headers = label, bytes_count, headers

    def of(self, draw: Draw, width: int = 64) -> tuple[str, tuple[str, ...]]:
        """The block, and the lines that nobody may see."""
        body = draw.wrapped(draw.bytes_base64(self._count), width)
        marks = f"-----BEGIN {self.label}-----\n", f"\n-----END {self.label}-----\n"
        return marks[0] + self._headers + body + marks[1], tuple(body.split("\n"))


def indented_block(draw: Draw) -> Sample:
    """A key in a YAML file, indented."""
    text, lines = block("EC PRIVATE KEY", 121).of(draw)
    inner = "".join(f"      {line}\n" for line in text.splitlines())
    return Sample(f"tls:\n  host: {draw.host()}\n  key: |\n{inner}  reload: true\n", lines)


def openssh(draw: Draw) -> Sample:
    """A key as a tool printed it, with line numbers before the lines."""
    text, lines = block("OPENSSH PRIVATE KEY", draw.between(300, 1800)).of(draw, 70)
    shown = "".join(f"{number:6d}\t{line}\n" for number, line in enumerate(text.splitlines(), 1))
    return Sample(shown + "\n", lines)


def encrypted(draw: Draw) -> Sample:
    """A key with its own headers, in a diff."""
    headers = f"Proc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,{draw.chars(HEX, 32).upper()}\n\n"
    text, lines = block("RSA PRIVATE KEY", 1190, headers).of(draw)
    added = "".join(f"+{line}\n" for line in text.splitlines())
    return Sample(f"--- /dev/null\n+++ b/certs/{draw.word()}.pem\n@@ -0,0 +1,{added.count(chr(10))} @@\n{added}", lines)


def pkcs8(draw: Draw) -> Sample:
    """A key in a Python string."""
    text, lines = block("PRIVATE KEY", 1216).of(draw)
    return Sample(f'SIGNING_KEY = """{text}"""\n\n\ndef sign(data):\n    return load(SIGNING_KEY).sign(data)\n', lines)


def escaped_key(draw: Draw) -> Sample:
    """A service account's file: the key on one line."""
    text, lines = block("PRIVATE KEY", 1216).of(draw)
    account = {
        "type": "service_account",
        "project_id": f"{draw.word()}-{draw.between(1000, 9999)}",
        "private_key": text,
        "client_email": f"{draw.service()}@{draw.word()}.iam.gserviceaccount.com",
    }
    return Sample(json.dumps(account, indent=2) + "\n", lines)


def putty(draw: Draw) -> Sample:
    """A key file of PuTTY."""
    public, private = (draw.wrapped(draw.bytes_base64(count)) for count in (279, 600))
    text = (
        f"PuTTY-User-Key-File-2: ssh-rsa\nEncryption: none\nComment: {draw.person()}@{draw.word()}\n"
        f"Public-Lines: {public.count(chr(10)) + 1}\n{public}\nPrivate-Lines: {private.count(chr(10)) + 1}\n{private}\n"
        f"Private-MAC: {draw.chars(HEX, 40)}\n"
    )
    return Sample(text, tuple(private.split("\n")))


def wireguard(draw: Draw, secret: str) -> str:
    """A tunnel's settings; the peer's key is public."""
    return (
        f"[Interface]\nAddress = 10.0.0.{draw.between(2, 250)}/32\nPrivateKey = {secret}\nDNS = 10.0.0.1\n\n"
        f"[Peer]\nEndpoint = {draw.host()}:51820\nAllowedIPs = 0.0.0.0/0\n"
    )


KEY = (
    Kind("openssh-key", "key", openssh),
    Kind("pem-ec", "key", indented_block),
    Kind("pem-encrypted", "key", encrypted),
    Kind("putty-key", "key", putty),
    Kind("pem-in-json", "key", escaped_key),
    written("key", "wireguard-key", wireguard, lambda draw: draw.bytes_base64(32)),
    Kind("pem-pkcs8", "key", pkcs8),
)


def oauth_response(draw: Draw) -> Sample:
    """What a token endpoint answers."""
    access, refresh = draw.chars(BASE64URL, 64), draw.chars(BASE64URL, 48)
    answer = {"access_token": access, "token_type": "Bearer", "expires_in": 3600, "refresh_token": refresh}
    return Sample(f"< HTTP/1.1 200 OK\n< content-type: application/json\n\n{json.dumps(answer)}\n", (access, refresh))


def cookie(draw: Draw, secret: str) -> str:
    """A request with a session."""
    return (
        f"GET /{draw.word()} HTTP/1.1\nHost: {draw.host()}\nCookie: theme=dark; sessionid={secret}; lang=en\n"
        "Accept: text/html\n\n"
    )


def query(draw: Draw, secret: str) -> str:
    """An address in an access log."""
    return (
        f'10.1.{draw.between(0, 255)}.{draw.between(1, 254)} - - [12/Mar/2025:10:15:32 +0000] "GET /export?format=csv&'
        f'access_token={secret}&page=2 HTTP/1.1" 200 {draw.between(100, 90000)}\n'
    )


def userinfo(draw: Draw, secret: str) -> str:
    """An address with a password."""
    return f"git clone https://{draw.person()}:{secret}@git.{draw.host()}/{draw.word()}/{draw.service()}.git && make\n"


def a_jwt(draw: Draw) -> str:
    """A signed token."""
    header = base64.urlsafe_b64encode(b'{"alg":"RS256","typ":"JWT"}').decode().rstrip("=")
    claims = json.dumps({"sub": draw.person(), "iat": draw.between(10**9, 2 * 10**9), "scope": draw.word()})
    return f"{header}.{base64.urlsafe_b64encode(claims.encode()).decode().rstrip('=')}.{draw.bytes_base64url(256)}"


def form(draw: Draw, secret: str) -> str:
    """A form's body."""
    return f"curl -X POST https://{draw.host()}/login -d 'username={draw.person()}&password={secret}&remember=1'\n"


def url_safe_password(draw: Draw) -> str:
    """A password that needs no escaping in an address."""
    return draw.one(draw.chars(BASE62, 16), draw.word().capitalize() + str(draw.between(100, 9999)))


def basic(draw: Draw, secret: str) -> str:
    """A header with user and password."""
    return f"curl -H 'Authorization: Basic {secret}' https://{draw.host()}/v1/{draw.word()}s | jq .items\n"


WEB = (
    Kind("oauth-token-response", "web", oauth_response),
    written("web", "cookie-session", cookie, lambda draw: draw.chars(BASE36, 32)),
    written("web", "url-query-token", query, lambda draw: draw.chars(BASE62, draw.between(24, 40))),
    written("web", "url-userinfo", userinfo, url_safe_password),
    in_places("web", "jwt", PLACES, "SERVICE_JWT", a_jwt),
    written("web", "form-body", form, url_safe_password),
    written("web", "basic-header", basic, user_and_password),
)


def postgres(draw: Draw, secret: str) -> str:
    """An address of a database."""
    return (
        f"DATABASE_URL=postgresql://{draw.person()}:{secret}@db.{draw.host()}:5432/{draw.service()}?sslmode=require\n"
    )


def jdbc(draw: Draw, secret: str) -> str:
    """An address with parameters."""
    return f"url=jdbc:postgresql://{draw.host()}/{draw.service()}?user={draw.person()}&password={secret}&ssl=true\npool=5\n"


def odbc(draw: Draw, secret: str) -> str:
    """A connection string in Python."""
    return (
        f'conn = pyodbc.connect("DRIVER={{ODBC Driver 18}};SERVER={draw.host()};DATABASE={draw.service()};UID=sa;'
        f'PWD={secret};Encrypt=yes")\ncursor = conn.cursor()\n'
    )


def mongodb(draw: Draw, secret: str) -> str:
    """An address in a JavaScript call."""
    return f"await mongoose.connect('mongodb+srv://{draw.person()}:{secret}@{draw.word()}.x1.example.net/app?w=majority');\n"


def pgpass(draw: Draw, secret: str) -> str:
    """A password file of a database client."""
    return f"# hostname:port:database:username:password\n{draw.host()}:5432:{draw.service()}:{draw.person()}:{secret}\n"


def pgpassword(draw: Draw, secret: str) -> str:
    """A variable before a command."""
    return f"PGPASSWORD='{secret}' pg_dump -h {draw.host()} -U {draw.person()} {draw.service()} > dump.sql\n"


DATABASE = (
    written("database", "postgres-url", postgres, url_safe_password),
    written("database", "jdbc-url", jdbc, url_safe_password),
    written("database", "odbc-connection", odbc, url_safe_password),
    written("database", "mongodb-url", mongodb, url_safe_password),
    written("database", "pgpass-file", pgpass, url_safe_password),
    written("database", "pgpassword-env", pgpassword, lambda draw: draw.password()),
)


def shell_export(draw: Draw, secret: str) -> str:
    """A line of a shell profile."""
    return f"# {draw.service()}\nexport EDITOR=vim\nexport {draw.word().upper()}_SECRET={secret}\nalias ll='ls -l'\n"


def k8s_secret(draw: Draw, secret: str) -> str:
    """A manifest with a value in base64."""
    return (
        f"apiVersion: v1\nkind: Secret\nmetadata:\n  name: {draw.service()}-db\ntype: Opaque\ndata:\n"
        f"  password: {secret}\n"
    )


def api_key_code(draw: Draw, secret: str) -> str:
    """A key as a keyword argument."""
    return (
        f"client = {draw.word().capitalize()}Client(api_key='{secret}', timeout={draw.between(1, 60)})\nclient.ping()\n"
    )


def actions_env(draw: Draw, secret: str) -> str:
    """A workflow with a value where a reference belongs."""
    return (
        f"jobs:\n  deploy:\n    runs-on: ubuntu-latest\n    env:\n      DEPLOY_PASSWORD: {secret}\n      CI: true\n    steps:\n"
        f"      - uses: actions/checkout@v4\n      - run: make {draw.word()}\n"
    )


def passphrase(draw: Draw) -> Sample:
    """Some words that together are a secret."""
    secret = " ".join(draw.word() for _ in range(draw.between(4, 6)))
    return Sample(f'gpg_key: ops@example.com\npassphrase: "{secret}"\nexpires: never\n', (secret,))


def flag(draw: Draw, secret: str) -> str:
    """A flag and its value."""
    return f"{draw.word()}ctl login --server {draw.host()} --username {draw.person()} --password {secret} --insecure\n"


def netrc(draw: Draw, secret: str) -> str:
    """A file of sign-ins."""
    return (
        f"machine {draw.host()}\n  login {draw.person()}\n  password {secret}\n\nmachine localhost\n  login anonymous\n"
    )


def password_json(draw: Draw, secret: str) -> str:
    """A JSON file."""
    return json.dumps({"host": draw.host(), "user": draw.person(), "password": secret, "port": 5432}, indent=4) + "\n"


def password_js(draw: Draw, secret: str) -> str:
    """A JavaScript object on one line."""
    return f"const pool = new Pool({{ user: '{draw.person()}', password: '{secret}', max: {draw.between(2, 20)} }});\n"


def k8s_value(draw: Draw, secret: str) -> str:
    """A container's variable: the name on one line, the value on the next."""
    return (
        f"        env:\n        - name: LOG_LEVEL\n          value: debug\n        - name: DB_PASSWORD\n"
        f'          value: "{secret}"\n        ports:\n        - containerPort: {draw.between(3000, 9000)}\n'
    )


def properties(draw: Draw, secret: str) -> str:
    """A Java properties file."""
    return (
        f"spring.datasource.url=jdbc:mysql://{draw.host()}/{draw.service()}\nspring.datasource.username={draw.person()}\n"
        f"spring.datasource.password={secret}\nlogging.level.root=INFO\n"
    )


def csharp(draw: Draw, secret: str) -> str:
    """A C# property."""
    return (
        f"public class {draw.word().capitalize()}Options\n{{\n    public string UserName {{ get; set; }} = "
        f'"{draw.person()}";\n    public string Password {{ get; set; }} = "{secret}";\n}}\n'
    )


def golang(draw: Draw, secret: str) -> str:
    """A Go struct literal."""
    return (
        f'\tcfg := &Config{{\n\t\tHost:     "{draw.host()}",\n\t\tPassword: "{secret}",\n\t\tPort:     5432,\n\t}}\n'
        "\treturn Open(cfg)\n"
    )


def python(draw: Draw, secret: str) -> str:
    """A Python call."""
    return (
        f"def connect():\n    return connector.connect(\n        host='{draw.host()}',\n        user='{draw.person()}',\n"
        f"        password='{secret}',\n    )\n"
    )


def token_yaml(draw: Draw, secret: str) -> str:
    """A YAML file."""
    return f"{draw.service()}:\n  url: https://{draw.host()}\n  token: {secret}\n  retries: {draw.between(1, 9)}\n"


def client_secret(draw: Draw, secret: str) -> str:
    """An OAuth client's file."""
    inner = {"client_id": f"{draw.between(10**11, 10**12)}.apps.example.com", "client_secret": secret}
    return json.dumps({"installed": {**inner, "redirect_uris": ["http://localhost"]}})


def password_env(draw: Draw, secret: str) -> str:
    """An environment file."""
    return f"APP_ENV=production\nDB_HOST={draw.host()}\nDB_PASSWORD={secret}\nDB_PORT=5432\n"


def curl_user(draw: Draw, secret: str) -> str:
    """A user and a password for curl."""
    return f"curl -fsSL -u {draw.person()}:{secret} https://{draw.host()}/api/status -o status.json\n"


def rails(draw: Draw, secret: str) -> str:
    """The file of a Rails application."""
    return f"production:\n  secret_key_base: {secret}\n  host: {draw.host()}\n"


def identified(draw: Draw, secret: str) -> str:
    """A statement that makes a user."""
    return f"CREATE USER '{draw.person()}'@'%' IDENTIFIED BY '{secret}';\nGRANT SELECT ON {draw.service()}.* TO x;\n"


def encryption_key(draw: Draw, secret: str) -> str:
    """A key for encryption."""
    return f"APP_NAME={draw.service()}\nAPP_KEY=base64:{secret}\nAPP_DEBUG=false\n"


def any_password(draw: Draw) -> str:
    """A password."""
    return draw.password()


ASSIGNED = (
    written("assigned", "shell-export", shell_export, lambda draw: draw.chars(BASE62, draw.between(16, 40))),
    written("assigned", "k8s-secret-data", k8s_secret, lambda d: base64.b64encode(d.password().encode()).decode()),
    written("assigned", "api-key-code", api_key_code, lambda draw: draw.chars(BASE62, draw.between(20, 40))),
    written("assigned", "github-actions-env", actions_env, url_safe_password),
    Kind("passphrase-words", "assigned", passphrase),
    written("assigned", "flag-space", flag, url_safe_password),
    written("assigned", "netrc", netrc, any_password),
    written("assigned", "password-json", password_json, any_password),
    written("assigned", "password-js", password_js, any_password),
    written("assigned", "k8s-env-value", k8s_value, any_password),
    written("assigned", "password-properties", properties, any_password),
    written("assigned", "password-csharp", csharp, any_password),
    written("assigned", "password-go", golang, any_password),
    written("assigned", "password-python", python, any_password),
    written("assigned", "token-yaml", token_yaml, lambda draw: draw.chars(BASE62, draw.between(20, 40))),
    written("assigned", "client-secret-json", client_secret, lambda draw: draw.chars(BASE64URL, draw.between(24, 40))),
    written("assigned", "password-env", password_env, any_password),
    written("assigned", "curl-user", curl_user, url_safe_password),
    written("assigned", "rails-secret-base", rails, lambda draw: draw.chars(HEX, 128)),
    written("assigned", "sql-identified", identified, any_password),
    written("assigned", "encryption-key-base64", encryption_key, lambda draw: draw.bytes_base64(32)),
)

ALONE = (
    token("alone", "unknown-prefix-live", "ACME_KEY").of("acme_live_", (BASE62, 32)),
    written(
        "alone",
        "base36-comment",
        lambda d, s: f"# temporary, remove: {s}\nretries = {d.between(1, 9)}\n",
        lambda d: d.chars(BASE36, 40),
    ),
    written(
        "alone",
        "two-part-token",
        lambda d, s: f"Signed in as {d.person()} ({s}) at 10:32\n",
        lambda d: d.chars(BASE62, 24) + "." + d.chars(BASE62, 32),
    ),
    written(
        "alone",
        "base62-log",
        lambda d, s: f"INFO {d.service()} handshake ok peer={d.host()} with {s} in 12 ms\n",
        lambda d: d.chars(BASE62, d.between(28, 48)),
    ),
    token("alone", "hex-with-prefix", "ACME_KEY").of("zk_", (HEX, 48)),
)

KINDS: tuple[Kind, ...] = (
    *CLOUD,
    *HOST,
    *REGISTRY,
    *CHAT,
    *PAYMENT,
    *MODEL,
    *SAAS,
    *KEY,
    *WEB,
    *DATABASE,
    *ASSIGNED,
    *ALONE,
    *sentences.KINDS,
)
