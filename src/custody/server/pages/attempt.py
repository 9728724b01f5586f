"""A part of a page that cannot be had costs that part only: it says why, and the rest of the page stands."""

import logging
from collections.abc import Callable
from typing import TypeVar

from custody.core.errors import InputError, WorldError

T = TypeVar("T")

NOT_NOW, TRY_AGAIN = "the store cannot be used now", "try again"
"""All that anybody outside is told: a store's own words name files and servers, which are not the caller's business."""

_LOG = logging.getLogger("custody.service")


def attempt_question(question: Callable[[], T]) -> T | str:
    """What a question comes to; where it has no answer, a sentence that says why and what to do.

    What the surroundings say of their files and servers is not in it: that is in the service's log.

    >>> attempt_question(lambda: 3)
    3
    """
    try:
        return question()
    except InputError as error:
        return _sentence(error.message, error.hint)
    except WorldError as error:
        _LOG.warning("a part of a page: %s", error.message)
        return _sentence(NOT_NOW, TRY_AGAIN)


def _sentence(message: str, hint: str | None) -> str:
    words = f"{message}; {hint}" if hint else message
    return f"{words[:1].upper()}{words[1:]}."
