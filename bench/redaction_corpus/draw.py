"""What samples are made of: alphabets, made-up names, made-up passwords. Everything comes from one ``Random``."""

import base64
import string
from random import Random

LOWER = string.ascii_lowercase
UPPER = string.ascii_uppercase
DIGITS = string.digits
BASE62 = string.ascii_letters + DIGITS
BASE64 = BASE62 + "+/"
BASE64URL = BASE62 + "-_"
HEX = DIGITS + "abcdef"
BASE32 = UPPER + "234567"
BASE36 = LOWER + DIGITS

WORDS = (
    "amber anchor apple autumn badger basil beacon birch bramble candle canyon cedar cherry cobalt copper coral crystal"
    " dagger delta ember falcon feather fennel ginger granite harbor hazel indigo ivory jasmine juniper kettle lantern"
    " lemon lilac maple marble meadow mellow nectar nickel oak olive onyx opal orchid otter paper pebble pepper pewter"
    " pine plum poppy quartz raven ribbon river saffron sable salmon silver sparrow spruce tangle thistle timber tulip"
    " umber velvet violet walnut willow winter yarrow zephyr"
).split()
SERVICES = (
    "billing checkout gateway ingest ledger mailer orders payments profile reports search shipping uploads".split()
)
PEOPLE = "alice amir bea carlos dana emeka finn grace hana ines jonas kira liam mona nils oriol petra".split()
MARKS = "!#%*+-.:?@^_~"


class Draw:
    """Chance with the words of this corpus."""

    def __init__(self, random: Random) -> None:
        self.random = random

    def chars(self, alphabet: str, count: int) -> str:
        """``count`` characters of ``alphabet``."""
        return "".join(self.random.choices(alphabet, k=count))

    def between(self, low: int, high: int) -> int:
        """A number from ``low`` to ``high``, both included."""
        return self.random.randint(low, high)

    def one(self, *options: str) -> str:
        """One of ``options``."""
        return self.random.choice(options)

    def word(self) -> str:
        """A plain word."""
        return self.random.choice(WORDS)

    def service(self) -> str:
        """The name of a made-up service."""
        return self.random.choice(SERVICES)

    def person(self) -> str:
        """A first name."""
        return self.random.choice(PEOPLE)

    def host(self) -> str:
        """A host name that belongs to nobody."""
        return f"{self.service()}.{self.word()}.example.{self.one('com', 'net', 'org', 'internal')}"

    def uuid(self) -> str:
        """A random UUID."""
        raw = self.chars(HEX, 12) + "4" + self.chars(HEX, 3) + self.one(*"89ab") + self.chars(HEX, 15)
        return f"{raw[:8]}-{raw[8:12]}-{raw[12:16]}-{raw[16:20]}-{raw[20:]}"

    def bytes_base64(self, count: int) -> str:
        """``count`` random bytes as base64 with its padding."""
        return base64.b64encode(self.random.randbytes(count)).decode()

    def bytes_base64url(self, count: int) -> str:
        """``count`` random bytes as URL-safe base64 without padding."""
        return base64.urlsafe_b64encode(self.random.randbytes(count)).decode().rstrip("=")

    def password(self) -> str:
        """A password as people and programs choose them: generated, or words with digits and marks."""
        made = self.between(1, 4)
        if made == 1:
            return self.chars(BASE62, self.between(10, 24))
        if made == 2:
            return self.word().capitalize() + str(self.between(10, 9999)) + self.one(*"!#*?.")
        if made == 3:
            return self.word() + self.one("-", "_", ".") + self.word() + str(self.between(1, 999))
        return self.marked(self.between(10, 20))

    def marked(self, length: int) -> str:
        """A generated password with a few marks in it, starting with a letter."""
        middle = self.chars(BASE62, length - 4) + self.chars(MARKS, 2) + self.chars(DIGITS, 1)
        return self.chars(LOWER, 1) + "".join(self.random.sample(middle, len(middle)))

    def wrapped(self, text: str, width: int = 64) -> str:
        """``text`` in lines of ``width``."""
        return "\n".join(text[start : start + width] for start in range(0, len(text), width))
