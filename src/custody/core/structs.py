"""Hash and show a struct without some of its fields, which msgspec has no option for."""

from msgspec import Struct


def hash_struct(value: Struct, *, but: tuple[str, ...]) -> int:
    """Return the hash of the fields of ``value`` except those named, such as mappings, which have none."""
    return hash(tuple(getattr(value, name) for name in value.__struct_fields__ if name not in but))


def format_struct(value: Struct, *, but: tuple[str, ...]) -> str:
    """Return the ``repr`` of ``value`` without the fields named, such as secrets.

    >>> class Login(Struct):
    ...     user: str
    ...     password: str
    >>> format_struct(Login("ann", "secret"), but=("password",))
    "Login(user='ann')"
    """
    fields = (f"{name}={getattr(value, name)!r}" for name in value.__struct_fields__ if name not in but)
    return f"{type(value).__qualname__}({', '.join(fields)})"
