"""The page of findings of ``custody verify``."""

from custody.core.record import DamageCode
from tools import markdown


def damage_page() -> str:
    """``damage.md``."""
    table = markdown.table(
        ("code", "what it means"), [(f"`{code.label}`", markdown.text(code.value)) for code in DamageCode]
    )
    return (
        "# What verify finds\n\n"
        "`custody verify` and `custody import` name everything that is not as it was stored by one of these codes, with"
        " the record where it is about one.\n\n"
        f"{table}"
    )
