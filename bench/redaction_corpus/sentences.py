"""Secrets in sentences and commands, recovery phrases, keys with colons; and public ids that look like secrets."""

import json

from bench.redaction_corpus.draw import BASE62, BASE64URL, HEX, Draw
from bench.redaction_corpus.frame import Harmless, HarmlessKind, Kind, written

PHRASE_WORDS = (
    "legal winner thank year wave sausage worth useful yellow letter advice cage absurd amount doctor acoustic avoid"
    " above ozone drill grab fiber curtain grace pudding cruise elder eight picnic hamster diagram private dutch cause"
    " delay garden pass empty oil clap essay actor cost dragon panel donor hen shoe dune cheese tone shallow raccoon"
    " scheme monkey dash jelly panther heavy island cat ancient token bubble kite barely rescue stable moral claw"
    " vivid"
).split()
"""Some words of BIP-39, from its published examples."""
PHRASE_LENGTHS = (12, 15, 18, 21, 24)
BASE58 = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
BASE32_LOWER = "abcdefghijklmnopqrstuvwxyz234567"
CROCKFORD = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"


def phrase(draw: Draw) -> str:
    """A phrase of as many words as BIP-39 allows."""
    return " ".join(draw.random.sample(PHRASE_WORDS, draw.random.choice(PHRASE_LENGTHS)))


def colon_key(draw: Draw) -> str:
    """Sixteen to sixty-four bytes in hexadecimal digits, with colons."""
    digits = draw.chars(HEX, 2 * draw.random.choice((16, 24, 32, 64)))
    return ":".join(digits[at : at + 2] for at in range(0, len(digits), 2))


def password(draw: Draw) -> str:
    """A password with letters and digits, as a sentence has it."""
    return draw.one(draw.word().capitalize() + str(draw.between(10, 9999)), draw.chars(BASE62, 9) + "7x")


def sentence(name: str, *forms: str) -> Kind:
    """A kind of one language; each form has a place for the secret and may have one for a service."""

    def write(draw: Draw, secret: str) -> str:
        return draw.one(*forms).format(secret, service=draw.service()) + "\n"

    return written("sentence", f"sentence-{name}", write, password)


KINDS: tuple[Kind, ...] = (
    written(
        "command",
        "wandb-login",
        lambda d, s: f"$ wandb login {d.one('', '--relogin ')}{s}\n",
        lambda d: d.chars(HEX, 40),
    ),
    written("command", "snyk-auth", lambda d, s: f"snyk auth {s} && snyk test\n", lambda d: d.uuid()),
    written(
        "command", "ngrok-authtoken", lambda d, s: f"ngrok config add-authtoken {s}\n", lambda d: d.chars(BASE62, 49)
    ),
    sentence("de", "Das Passwort für den {service} ist {}.", "Das Kennwort lautet {}", "Root-Passwort: {}"),
    sentence("en", "the password for the {service} server is {}", "Password of {service} is now {}."),
    sentence("fr", "le mot de passe de {service} est {}.", "Mot de passe : {}"),
    sentence("es", "la contraseña de {service} es {}.", "Contraseña: {}"),
    sentence("it", "la password di {service} è {}.", "parola d'ordine: {}"),
    sentence("pt", "a senha do {service} é {}.", "palavra-passe: {}"),
    sentence("nl", "het wachtwoord voor {service} is {}.", "Wachtwoord: {}"),
    sentence("pl", "hasło do {service} to {}.", "Hasło: {}"),
    sentence("ru", "пароль от {service}: {}", "Пароль — {}"),
    sentence("zh", "{service} 的密码是{}，请保密", "密码：{}"),
    sentence("ja", "パスワードは{}です", "{service}のパスワード: {}"),
    sentence("ko", "비밀번호는 {} 입니다", "비밀번호: {}"),
    sentence("tr", "{service} şifresi {}", "Şifre: {}"),
    written("phrase", "phrase-alone", lambda d, s: f"{s}\n", phrase),
    written("phrase", "phrase-sentence", lambda d, s: f"my seed phrase is {s} and nothing else\n", phrase),
    written("phrase", "phrase-json", lambda d, s: json.dumps({"words": s, "network": "main"}), phrase),
    written("colon", "colon-key-env", lambda d, s: f"ENCRYPTION_KEY={s}\nMODE=cbc\n", colon_key),
    written("colon", "colon-key-yaml", lambda d, s: f"key: {s}\nmode: cbc\n", colon_key),
    written("colon", "colon-key-json", lambda d, s: json.dumps({"aesKey": s}), colon_key),
    written("colon", "openssl-private", lambda d, s: f"priv:\n    {s}\npub:\n    04:{colon_key(d)}\n", colon_key),
)


def ulids(draw: Draw) -> Harmless:
    """Sortable ids in a log."""
    ids = ["01" + draw.chars(CROCKFORD, 24) for _ in range(20)]
    lines = [f"INFO order {one} saved, event evt_{one}, next {one.lower()}" for one in ids]
    return Harmless("\n".join(lines) + "\n", tuple(ids))


def document_links(draw: Draw) -> Harmless:
    """Links to documents, drawings and videos."""
    ids = [draw.chars(BASE62, 20) + draw.chars(BASE64URL, 24) for _ in range(4)]
    text = (
        f"See https://docs.google.com/document/d/{ids[0]}/edit and https://drive.google.com/file/d/{ids[1]}/view?usp=x,\n"
        f"[sheet](https://docs.google.com/spreadsheets/d/{ids[2]}/edit#gid=0), documentId: {ids[3]}\n"
    )
    return Harmless(text, tuple(ids))


def content_ids(draw: Draw) -> Harmless:
    """Ids of IPFS."""
    old, new = "Qm" + draw.chars(BASE58, 44), "bafy" + draw.chars(BASE32_LOWER, 55)
    return Harmless(f"ipfs add -r site\nadded {old} site\nipfs://{new}/index.html\n", (old, new))


def sentences(draw: Draw) -> Harmless:
    """Sentences about passwords, without one."""
    return Harmless(
        "Das Passwort ist erforderlich und 8-stellig.\nLe mot de passe est incorrect.\nLa contraseña es obligatoria.\n"
        "The password is stored with bcrypt2 and is base64-encoded.\nПароль должен быть длинным.\n密码是必填项。\n"
        "het wachtwoord is verplicht\nparola: a word in Italian\nthe password hash is sha256 of the input\n"
    )


def fingerprints(draw: Draw) -> Harmless:
    """Fingerprints and identifiers with colons."""
    one, other = colon_key(draw), colon_key(draw)
    return Harmless(f"SHA256 Fingerprint={one}\nX509v3 Subject Key Identifier:\n    {other}\n", (one, other))


HARMLESS = tuple(
    HarmlessKind(text.__name__.replace("_", "-"), text)
    for text in (ulids, document_links, content_ids, sentences, fingerprints)
)
