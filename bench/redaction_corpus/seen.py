"""The seen kinds, by family. The shapes are those that the services publish; every secret is made up."""

import base64
import json

from bench.redaction_corpus import sentences
from bench.redaction_corpus.draw import BASE32, BASE36, BASE62, BASE64, BASE64URL, DIGITS, HEX, LOWER, UPPER, Draw
from bench.redaction_corpus.frame import Kind, Sample, written
from bench.redaction_corpus.places import PLACES
from bench.redaction_corpus.shapes import tokens

ALONE, NAMED = True, False
"""Whether the token's shape tells what it is, or only the name beside it."""


def azure_storage(draw: Draw, secret: str) -> str:
    """A connection string."""
    return (
        f"AZURE_STORAGE_CONNECTION_STRING=DefaultEndpointsProtocol=https;AccountName={draw.service()};AccountKey={secret};"
        "EndpointSuffix=core.windows.net\n"
    )


def azure_bus(draw: Draw, secret: str) -> str:
    """A connection string in a settings file."""
    return json.dumps(
        {
            "ServiceBus": f"Endpoint=sb://{draw.word()}.servicebus.windows.net/;SharedAccessKeyName=Root;SharedAccessKey={secret}"
        }
    )


def azure_sas(draw: Draw, secret: str) -> str:
    """An address that carries its own permission."""
    return (
        f"azcopy copy 'https://{draw.word()}.blob.core.windows.net/{draw.service()}?sv=2022-11-02&ss=b&srt=co&sp=rwdlac&"
        f"se=2030-01-01T00:00:00Z&sig={secret}' . --recursive\n"
    )


def url_quoted(draw: Draw) -> str:
    """A signature as it stands in an address."""
    return draw.bytes_base64(32).replace("+", "%2B").replace("/", "%2F").replace("=", "%3D")


def service_account(draw: Draw) -> Sample:
    """A service account's file, written by an agent as JSON text."""
    body = draw.wrapped(draw.bytes_base64(1200))
    inner = {
        "type": "service_account",
        "private_key_id": draw.chars(HEX, 40),
        "private_key": f"-----BEGIN PRIVATE KEY-----\n{body}\n-----END PRIVATE KEY-----\n",
        "client_id": draw.chars(DIGITS, 21),
    }
    return Sample(json.dumps({"file_path": "sa.json", "content": json.dumps(inner, indent=2)}), tuple(body.split("\n")))


CLOUD = (
    *tokens(
        PLACES,
        "cloud",
        ("azure-client-secret", "AZURE_CLIENT_SECRET", ALONE, ((BASE62, 3), (DIGITS, 1), "Q~", (BASE64URL + "~.", 34))),
        ("gcp-access-token", "GCP_ACCESS_TOKEN", ALONE, ("ya29.", (BASE64URL, 180))),
        ("alibaba-key", "ALIBABA_ACCESS_KEY_ID", ALONE, ("LTAI", (BASE62, 20))),
        ("scaleway-key", "SCW_SECRET_KEY", NAMED, (Draw.uuid,)),
        ("cloudflare-origin-key", "CF_ORIGIN_CA_KEY", ALONE, ("v1.0-", (HEX, 24), "-", (HEX, 146))),
        ("gcp-oauth-client-secret", "GOOGLE_CLIENT_SECRET", ALONE, ("GOCSPX-", (BASE64URL, 28))),
        ("supabase-key", "SUPABASE_ACCESS_TOKEN", ALONE, ("sbp_", (HEX, 40))),
        ("aws-secret-key", "AWS_SECRET_ACCESS_KEY", NAMED, ((BASE64, 40),)),
        ("ibm-cloud-key", "IBMCLOUD_API_KEY", NAMED, ((BASE64URL, 44),)),
    ),
    written("cloud", "azure-servicebus", azure_bus, lambda draw: draw.bytes_base64(32)),
    Kind("gcp-service-account", "cloud", service_account),
    written("cloud", "azure-storage-connection", azure_storage, lambda draw: draw.bytes_base64(64)),
    written("cloud", "azure-sas", azure_sas, url_quoted),
)

HOST = tokens(
    PLACES,
    "host",
    ("github-app", "GITHUB_APP_TOKEN", ALONE, (lambda d: d.one("gho", "ghu", "ghs", "ghr"), "_", (BASE62, 36))),
    ("bitbucket-app-password", "BITBUCKET_APP_PASSWORD", ALONE, ("ATBB", (BASE62, 32))),
    ("gitlab-deploy", "GITLAB_DEPLOY_TOKEN", ALONE, ("gldt-", (BASE64URL, 20))),
    ("sourcegraph-token", "SRC_ACCESS_TOKEN", ALONE, ("sgp_", (HEX, 16), "_", (HEX, 40))),
    ("gitlab-runner", "RUNNER_TOKEN", ALONE, ("glrt-", (BASE64URL, 20))),
)

REGISTRY = tokens(
    PLACES,
    "registry",
    ("artifactory-key", "ARTIFACTORY_API_KEY", ALONE, ("AKCp", (BASE62, 69))),
    ("crates-token", "CARGO_REGISTRY_TOKEN", ALONE, ("cio", (BASE62, 32))),
    ("docker-hub-pat", "DOCKER_TOKEN", ALONE, ("dckr_pat_", (BASE64URL, 27))),
    ("nuget-key", "NUGET_API_KEY", ALONE, ("oy2", (LOWER + "234567", 43))),
    ("rubygems-key", "GEM_HOST_API_KEY", ALONE, ("rubygems_", (HEX, 48))),
)


def discord_hook(draw: Draw, secret: str) -> str:
    """A Python call."""
    return f'requests.post("https://discord.com/api/webhooks/{draw.between(10**17, 10**18)}/{secret}", json=message)\n'


CHAT = (
    *tokens(
        PLACES,
        "chat",
        (
            "slack-app",
            "SLACK_APP_TOKEN",
            ALONE,
            ("xapp" + "-1-A", (UPPER + DIGITS, 10), "-", (DIGITS, 13), "-", (HEX, 64)),
        ),
        ("slack-bot", "SLACK_BOT_TOKEN", ALONE, ("xoxb" + "-", (DIGITS, 12), "-", (DIGITS, 13), "-", (BASE62, 24))),
        (
            "slack-user",
            "SLACK_TOKEN",
            ALONE,
            ("xoxp" + "-", (DIGITS, 11), "-", (DIGITS, 12), "-", (DIGITS, 13), "-", (HEX, 32)),
        ),
        ("twilio-auth-token", "TWILIO_AUTH_TOKEN", NAMED, ((HEX, 32),)),
        ("twilio-api-key", "TWILIO_API_KEY", ALONE, ("SK", (HEX, 32))),
    ),
    written("chat", "discord-webhook", discord_hook, lambda draw: draw.chars(BASE64URL, 68)),
)

PAYMENT = tokens(
    PLACES,
    "payment",
    ("paypal-secret", "PAYPAL_CLIENT_SECRET", NAMED, ("E", (BASE64URL, 79))),
    ("flutterwave-key", "FLW_SECRET_KEY", ALONE, ("FLWSECK_TEST-", (HEX, 32), "-X")),
    ("square-token", "SQUARE_ACCESS_TOKEN", ALONE, ("sq0atp-", (BASE64URL, 22))),
    ("razorpay-key", "RAZORPAY_KEY_ID", ALONE, ("rzp_live_", (BASE62, 14))),
    ("stripe-webhook", "STRIPE_WEBHOOK_SECRET", ALONE, ("whsec_", (BASE62, 32))),
    ("shopify-token", "SHOPIFY_ACCESS_TOKEN", ALONE, ("shpat" + "_", (HEX, 32))),
)

MODEL = tokens(
    PLACES,
    "model",
    ("replicate-token", "REPLICATE_API_TOKEN", ALONE, ("r8_", (BASE62, 37))),
    ("deepseek-key", "DEEPSEEK_API_KEY", ALONE, ("sk-", (HEX, 32))),
    ("huggingface-token", "HF_TOKEN", ALONE, ("hf_", (LOWER + UPPER, 34))),
    ("mistral-key", "MISTRAL_API_KEY", NAMED, ((BASE62, 32),)),
    ("xai-key", "XAI_API_KEY", ALONE, ("xai-", (BASE62, 80))),
    ("perplexity-key", "PPLX_API_KEY", ALONE, ("pplx-", (BASE62, 48))),
    ("anthropic-key", "ANTHROPIC_API_KEY", ALONE, ("sk-" + "ant-api03-", (BASE64URL, 93), "AA")),
    ("elevenlabs-key", "ELEVENLABS_API_KEY", ALONE, ("sk_", (HEX, 48))),
)


def sentry_dsn(draw: Draw, secret: str) -> str:
    """An address with a key."""
    return f"Sentry.init({{ dsn: 'https://{secret}@o{draw.between(1000, 99999)}.ingest.sentry.io/{draw.between(1000, 99999)}' }});\n"


SAAS = (
    *tokens(
        PLACES,
        "saas",
        ("linear-key", "LINEAR_API_KEY", ALONE, ("lin_api_", (BASE62, 40))),
        ("twitter-bearer", "TWITTER_BEARER_TOKEN", ALONE, ("A" * 22, (BASE62, 80))),
        ("sendgrid-key", "SENDGRID_API_KEY", ALONE, ("SG" + ".", (BASE64URL, 22), ".", (BASE64URL, 43))),
        ("posthog-key", "POSTHOG_PERSONAL_KEY", ALONE, ("phx_", (BASE62, 43))),
        ("figma-token", "FIGMA_TOKEN", ALONE, ("figd_", (BASE64URL, 40))),
        ("atlassian-token", "JIRA_API_TOKEN", ALONE, ("ATATT3xFfGF0", (BASE64URL, 170), "=", (HEX.upper(), 8))),
        ("dropbox-token", "DROPBOX_TOKEN", ALONE, ("sl.", (BASE64URL, 136))),
        ("databricks-token", "DATABRICKS_TOKEN", ALONE, ("dapi", (HEX, 32))),
        ("sonar-token", "SONAR_TOKEN", ALONE, ("sqp_", (HEX, 40))),
        ("dynatrace-token", "DT_API_TOKEN", ALONE, ("dt0c01.", (BASE32, 24), ".", (BASE32, 64))),
        ("circleci-token", "CIRCLE_TOKEN", ALONE, ("CCIPAT_", (BASE62, 22), "_", (HEX, 40))),
        ("postmark-token", "POSTMARK_SERVER_TOKEN", NAMED, (Draw.uuid,)),
        ("vault-token", "VAULT_TOKEN", ALONE, ("hvs.", (BASE64URL, 95))),
        ("algolia-key", "ALGOLIA_ADMIN_API_KEY", NAMED, ((HEX, 32),)),
        ("pagerduty-key", "PAGERDUTY_API_KEY", NAMED, ((BASE64URL, 20),)),
        ("notion-token", "NOTION_TOKEN", ALONE, ("ntn_", (DIGITS, 11), (BASE62, 35))),
        ("datadog-app-key", "DD_APP_KEY", NAMED, ((HEX, 40),)),
        ("mailchimp-key", "MAILCHIMP_API_KEY", ALONE, ((HEX, 32), "-us", (DIGITS, 2))),
    ),
    written("saas", "sentry-dsn", sentry_dsn, lambda draw: draw.chars(HEX, 32)),
)


def key_block(label: str, count: int, draw: Draw, *, cut: bool = False) -> Sample:
    """A private key as a program printed it; ``cut`` when the end is missing."""
    body = draw.wrapped(draw.bytes_base64(count))
    end = "" if cut else f"-----END {label}-----\n"
    return Sample(f"$ cat {draw.word()}.key\n-----BEGIN {label}-----\n{body}\n{end}", tuple(body.split("\n")))


def pgp(draw: Draw) -> Sample:
    """An exported key, with its headers and its checksum."""
    body = draw.wrapped(draw.bytes_base64(900))
    text = f"-----BEGIN PGP PRIVATE KEY BLOCK-----\nVersion: GnuPG v2\n\n{body}\n={draw.chars(BASE64, 4)}\n-----END PGP PRIVATE KEY BLOCK-----\n"
    return Sample(text, tuple(body.split("\n")))


def jwk(draw: Draw) -> Sample:
    """A key as JSON: ``d`` is the private part."""
    secret = draw.bytes_base64url(32)
    key = {"kty": "EC", "crv": "P-256", "x": draw.bytes_base64url(32), "y": draw.bytes_base64url(32), "d": secret}
    return Sample(json.dumps(key, indent=2) + "\n", (secret,))


KEY = (
    Kind("jwk-private", "key", jwk),
    Kind("pgp-key", "key", pgp),
    *tokens(
        PLACES,
        "key",
        ("age-key", "SOPS_AGE_KEY", ALONE, ("AGE-SECRET-KEY-1", ("QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L", 58))),
    ),
    Kind("pem-rsa", "key", lambda draw: key_block("RSA PRIVATE KEY", 1190, draw)),
    Kind("pem-truncated", "key", lambda draw: key_block("RSA PRIVATE KEY", 300, draw, cut=True)),
    Kind("pem-dsa", "key", lambda draw: key_block("DSA PRIVATE KEY", 440, draw)),
)


def a_jwt(draw: Draw) -> str:
    """A signed token."""
    header = base64.urlsafe_b64encode(b'{"alg":"HS256","typ":"JWT"}').decode().rstrip("=")
    claims = json.dumps({"sub": str(draw.between(1, 10**9)), "name": draw.person()})
    return f"{header}.{base64.urlsafe_b64encode(claims.encode()).decode().rstrip('=')}.{draw.bytes_base64url(32)}"


def header(name: str) -> Kind:
    """A header that a service has made up."""

    def write(draw: Draw, secret: str) -> str:
        return f"POST /v2/{draw.word()} HTTP/2\nhost: {draw.host()}\n{name}: {secret}\ncontent-type: application/json\n"

    return written("web", "vendor-header", write, lambda draw: draw.chars(HEX, 40))


def x_api_key(draw: Draw, secret: str) -> str:
    """A header in code."""
    return f"headers = {{'X-Api-Key': '{secret}', 'Accept': 'application/json'}}\nrequests.get(url, headers=headers)\n"


def bearer(draw: Draw, secret: str) -> str:
    """A token that says nothing about itself."""
    return f'axios.get("https://{draw.host()}", {{ headers: {{ Authorization: "Bearer {secret}" }} }})\n'


def token_url(draw: Draw, secret: str) -> str:
    """An address with a token for a user."""
    return f"git remote set-url origin https://{secret}@git.{draw.host()}/{draw.word()}/{draw.service()}.git\n"


def signed_url(draw: Draw, secret: str) -> str:
    """An address with a signature."""
    return (
        f"wget 'https://{draw.service()}.s3.amazonaws.com/{draw.word()}.zip?X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Date="
        f"20250301T101500Z&X-Amz-Expires=3600&X-Amz-Signature={secret}'\n"
    )


def set_cookie(draw: Draw, secret: str) -> str:
    """An answer that opens a session."""
    return f"HTTP/1.1 302 Found\nLocation: /\nSet-Cookie: connect.sid={secret}; Path=/; HttpOnly; SameSite=Lax\nServer: nginx\n"


WEB = (
    header("X-Vault-Token"),
    written("web", "x-api-key-header", x_api_key, lambda draw: draw.chars(BASE62, 32)),
    written("web", "bearer-opaque", bearer, lambda draw: draw.chars(BASE64URL, draw.between(24, 64))),
    written("web", "jwt-cookie", lambda d, s: f"Cookie: lang=en; auth={s}\nHost: {d.host()}\n", a_jwt),
    written("web", "url-token-only", token_url, lambda draw: draw.chars(BASE62, draw.between(24, 40))),
    written("web", "signed-url", signed_url, lambda draw: draw.chars(HEX, 64)),
    written("web", "set-cookie", set_cookie, lambda d: "s%3A" + d.chars(BASE64URL, 32) + "." + d.chars(BASE62, 43)),
)


def plain_password(draw: Draw) -> str:
    """A password without signs that an address would have to escape."""
    return draw.one(draw.chars(BASE62, 16), draw.word() + str(draw.between(100, 9999)))


def mssql(draw: Draw, secret: str) -> str:
    """A connection string in a settings file."""
    return json.dumps(
        {
            "ConnectionStrings": {
                "Main": f"Server={draw.host()};Database=app;User Id=sa;Password={secret};TrustServerCertificate=True"
            }
        },
        indent=2,
    )


def sqlalchemy(draw: Draw, secret: str) -> str:
    """An address in code."""
    return f'engine = create_engine("mysql+pymysql://{draw.person()}:{secret}@{draw.host()}/{draw.service()}")\nBase.metadata.create_all(engine)\n'


def redis(draw: Draw, secret: str) -> str:
    """An address without a user."""
    return f"CELERY_BROKER_URL=redis://:{secret}@{draw.host()}:6379/0\nCELERY_RESULT_BACKEND=rpc\n"


def amqp(draw: Draw, secret: str) -> str:
    """An address of a queue."""
    return f"broker:\n  url: amqps://{draw.person()}:{secret}@{draw.host()}:5671/{draw.word()}\n  prefetch: 10\n"


def mysql_command(draw: Draw, secret: str) -> str:
    """A password glued to its flag."""
    return f"mysql -h {draw.host()} -u root -p{secret} {draw.service()} < schema.sql\n"


def mysql_url(draw: Draw, secret: str) -> str:
    """An address in a YAML file."""
    return f"database:\n  dsn: mysql://{draw.person()}:{secret}@{draw.host()}:3306/{draw.service()}?charset=utf8mb4\n"


DATABASE = (
    written("database", "mssql-connection", mssql, plain_password),
    written("database", "sqlalchemy-code", sqlalchemy, plain_password),
    written("database", "redis-url", redis, plain_password),
    written("database", "amqp-url", amqp, plain_password),
    written("database", "mysql-command", mysql_command, plain_password),
    written("database", "mysql-url", mysql_url, plain_password),
)

LINES = {
    "password-java": 'private static final String DB_PASSWORD = "{s}";\nprivate static final int PORT = 5432;\n',
    "prose-password": "the admin password is {s} , please add a login test for user {p}\n",
    "password-yaml": "database:\n  user: {p}\n  password: {s}\n  pool: 5\n",
    "sshpass": "sshpass -p '{s}' ssh -o StrictHostKeyChecking=no {p}@{h} uptime\n",
    "django-secret": "SECRET_KEY = 'django-insecure-{s}'\nDEBUG = True\nALLOWED_HOSTS = []\n",
    "password-toml": '[database]\nuser = "{p}"\npassword = "{s}"\nport = 5432\n',
    "ansible-vars": "---\nansible_user: {p}\nansible_become_password: {s}\nansible_port: 22\n",
    "compose-file": "services:\n  db:\n    image: postgres:16\n    environment:\n      POSTGRES_PASSWORD: {s}\n      POSTGRES_DB: app\n",
    "password-xml": "<server>\n  <id>{w}</id>\n  <username>{p}</username>\n  <password>{s}</password>\n</server>\n",
    "password-ini": "[client]\nuser = {p}\npassword = {s}\nhost = {h}\n",
    "htpasswd-line": "htpasswd -b /etc/nginx/.htpasswd {p} {s} && systemctl reload nginx\n",
    "prose-token": "I created a token for you: {s} and it expires next week, {p} knows about it\n",
    "flag-equals": "{w}-cli deploy --env=prod --token={s} --wait\n",
    "sql-password": "ALTER ROLE {p} WITH LOGIN PASSWORD '{s}';\nGRANT ALL ON DATABASE app TO {p};\n",
    "spring-yaml": "spring:\n  datasource:\n    username: {p}\n    password: '{s}'\n  jpa:\n    show-sql: false\n",
    "signing-key-hex": "COOKIE_NAME={w}\nSIGNING_KEY={s}\nCOOKIE_SECURE=true\n",
    "password-php": "<?php\nreturn [\n    'host' => '{h}',\n    'password' => '{s}',\n    'charset' => 'utf8',\n];\n",
    "api-key-env": "REGION=eu\n{W}_API_KEY={s}\nDEBUG=0\n",
    "password-ruby": 'ActiveRecord::Base.establish_connection(\n  adapter: "mysql2",\n  password: "{s}",\n  pool: 5\n)\n',
    "password-hcl": 'region      = "eu-west-1"\ndb_password = "{s}"\ndb_size     = "small"\n',
    "dockerfile-env": "FROM node:20\nENV NODE_ENV=production\nENV {W}_PASSWORD {s}\nRUN npm ci\n",
    "phrase-yaml": "vault:\n  host: {h}\n  password: {s}\n  retries: 3\n",
    "phrase-env": "# {w}\n{W}_PASSWORD={s}\nDEBUG=0\n",
    "phrase-quoted": 'login({{"user": "{p}", "password": "{s}"}})\n',
    "phrase-key": "gpg:\n  passphrase: '{s}'\n  keyring: {w}\n",
    "phrase-secret": '{{\n  "host": "{h}",\n  "secret": "{s}"\n}}\n',
}
"""Surroundings of passwords: secret, person, word, host."""


def phrase(draw: Draw) -> str:
    """A pass phrase of words."""
    return " ".join(draw.word() for _ in range(draw.between(4, 7)))


STRONGER = {
    "django-secret": lambda draw: draw.chars(BASE36 + "!@#$%^&*(-_=+)", 50),
    "prose-token": lambda draw: draw.chars(BASE62, 32),
    "flag-equals": lambda draw: draw.chars(BASE62, 24),
    "signing-key-hex": lambda draw: draw.chars(HEX, 64),
    "api-key-env": lambda draw: draw.chars(BASE62, draw.between(16, 40)),
    "mysql": plain_password,
    **{name: phrase for name in LINES if name.startswith("phrase-")},
}
"""Kinds whose secrets are not passwords of people."""


def assigned(name: str, line: str) -> Kind:
    """A kind with surroundings of its own."""

    def write(draw: Draw, secret: str) -> str:
        word = draw.word()
        return line.format(s=secret, p=draw.person(), w=word, W=word.upper(), h=draw.host())

    return written("assigned", name, write, STRONGER.get(name, Draw.password))


ASSIGNED = tuple(assigned(name, line) for name, line in LINES.items())

BARE = (
    written(
        "alone",
        "base64-prompt",
        lambda d, s: f"use {s} for the {d.service()} sandbox\n",
        lambda d: d.bytes_base64(d.between(24, 48)),
    ),
    written(
        "alone",
        "base32-upper",
        lambda d, s: f"scan the code or type {s} into your app\n",
        lambda d: d.chars(BASE32, 32),
    ),
    written(
        "alone",
        "unknown-prefix-dash",
        lambda d, s: f"{d.word()} login {s} --verbose\n",
        lambda d: "vlt-" + d.chars(BASE64URL, 36),
    ),
    written(
        "alone",
        "base64url-diff",
        lambda d, s: f"@@ -1 +1 @@\n-{s}\n+{d.word()}\n",
        lambda d: d.bytes_base64url(d.between(24, 40)),
    ),
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
    *BARE,
    *sentences.KINDS,
)
