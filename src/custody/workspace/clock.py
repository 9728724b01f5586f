"""The one clock, and the one source of chance: everything else is handed a moment or a token.

May touch: the operating system's clock and its random numbers.
"""

import secrets
import time


def now_ns() -> int:
    """Nanoseconds since 1970, as this machine believes; it may be set back at any time."""
    return time.time_ns()


def token(bits: int = 128) -> str:
    """That many random bits as lower-case hex digits."""
    return secrets.token_hex(bits // 8)
