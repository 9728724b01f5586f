"""Sentences, phrases and ids that no rule was made from: other words around them, other languages, other sites."""

import json

from bench.redaction_corpus.draw import BASE36, BASE62, BASE64URL, HEX, Draw
from bench.redaction_corpus.frame import Harmless, HarmlessKind, Kind, written
from bench.redaction_corpus.sentences import BASE58, CROCKFORD, colon_key, password, phrase

FORMS = {
    "uk": ("пароль до бази {service} — {}", "Новий пароль: {}"),
    "cs": ("heslo k {service} je {}", "Heslo: {}"),
    "sv": ("lösenordet till {service} är {}", "Lösenord: {}"),
    "hu": ("a jelszó most: {}", "Jelszó: {}"),
    "vi": ("mật khẩu của {service} là {}", "Mật khẩu: {}"),
    "id": ("kata sandi {service} adalah {}", "Kata sandi: {}"),
    "el": ("ο κωδικός είναι {}", "Κωδικός: {}"),
    "de-mail": ("Hallo, das neue Datenbankpasswort ist jetzt {}. Gruß", "PS: Kennwort = {}"),
    "en-chat": ("hey, the wifi passphrase is {}", "staging password: {}"),
    "fr-note": ("NB : le nouveau mot de passe est « {} ».", "# mot de passe = {}"),
    "es-code": ('contraseña = "{}"', "# la clave es {}"),
    "pt-code": ('senha = "{}"', "SENHA_BANCO={}"),
    "zh-list": ("用户名: admin, 密码: {}", "数据库密码为 {}。"),
    "ja-mail": ("新しいパスワードは「{}」です。", "初期パスワード：{}"),
    "ko-note": ("관리자 암호: {}", "새 비밀번호는 {}입니다"),
    "tr-mail": ("Yeni parola: {}", "veritabanı şifresi: {}"),
}


def _kind(name: str, forms: tuple[str, ...]) -> Kind:
    def write(draw: Draw, secret: str) -> str:
        return draw.one(*forms).format(secret, service=draw.service()) + "\n"

    return written("sentence", f"unseen-{name}", write, password)


KINDS: tuple[Kind, ...] = (
    *(_kind(name, forms) for name, forms in FORMS.items()),
    written("phrase", "phrase-quoted", lambda d, s: f"const words = '{s}';\n", phrase),
    written("phrase", "phrase-flag", lambda d, s: f'tool import --mnemonic "{s}" --yes\n', phrase),
    written("phrase", "phrase-wallet", lambda d, s: f"Wallet backup ({d.service()}): {s}.\n", phrase),
    written(
        "command", "wandb-key", lambda d, s: f"RUN pip install wandb && wandb login {s}\n", lambda d: d.chars(HEX, 40)
    ),
    written("colon", "colon-secret", lambda d, s: f'"shared_secret": "{s}",\n', colon_key),
)


def ulid_rows(draw: Draw) -> Harmless:
    """Rows of a table with sortable ids."""
    ids = ["01" + draw.chars(CROCKFORD, 24) for _ in range(12)]
    return Harmless("".join(f"| {one} | {draw.word()} | req-{one} |\n" for one in ids), tuple(ids))


def site_links(draw: Draw) -> Harmless:
    """Links to drawings, folders, notebooks and videos."""
    ids = [draw.chars(BASE62, 22), draw.chars(BASE64URL, 33), draw.chars(BASE62, 34), draw.chars(BASE64URL, 56)]
    text = (
        f"<https://www.figma.com/design/{ids[0]}/Home?node-id=1-2>\nhttps://drive.google.com/drive/folders/{ids[1]}\n"
        f'"https://colab.research.google.com/drive/{ids[2]}"\nhttps://docs.google.com/forms/d/e/{ids[3]}/viewform\n'
    )
    return Harmless(text, tuple(ids))


def peers(draw: Draw) -> Harmless:
    """Peers and gateways of IPFS."""
    peer, root, name = (
        "12D3KooW" + draw.chars(BASE58, 44),
        "Qm" + draw.chars(BASE58, 44),
        "k51" + draw.chars(BASE36, 59),
    )
    text = f"/ip4/10.0.0.1/tcp/4001/p2p/{peer}\nhttps://ipfs.io/ipfs/{root}/a.png\nipns://{name}\n"
    return Harmless(text, (peer, root, name))


def word_lists(draw: Draw) -> Harmless:
    """Lists of words in programs."""
    words = [draw.word() for _ in range(60)]
    return Harmless(f"COLORS = {json.dumps(sorted(set(words)))}\nNAMES = 'red green blue white black grey'\n")


HARMLESS = tuple(
    HarmlessKind(text.__name__.replace("_", "-"), text) for text in (ulid_rows, site_links, peers, word_lists)
)
