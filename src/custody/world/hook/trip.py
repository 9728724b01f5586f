"""Placeholder while the real tripwire is being written: everything trips."""


def trips(data: bytes) -> bool:
    """Whether ``data`` may hold a secret."""
    return False
