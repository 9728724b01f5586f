"""A part of a page that cannot be had costs that part only: it says why, and the rest of the page stands."""

from collections.abc import Callable
from typing import TypeVar

from custody.model.errors import CustodyError

T = TypeVar("T")


def attempted(question: Callable[[], T]) -> T | str:
    """What a question comes to; where it has no answer, a sentence that says why and what to do.

    >>> attempted(lambda: 3)
    3
    """
    try:
        return question()
    except CustodyError as error:
        words = f"{error.message}; {error.hint}" if error.hint else error.message
        return f"{words[:1].upper()}{words[1:]}."
