"""A committed text as it would have been captured: with its secrets taken out, so that the two can be compared.

Nothing of this is shown or kept; without it, a line that holds a secret would not be recognised.
"""

from collections.abc import Sequence

from custody.capture.hook.redact import redact_text
from custody.capture.hook.secret_removal import REDACTION_FAILURES
from custody.capture.hook.secret_scan import trips


def mask_secrets(lines: Sequence[str]) -> tuple[str, ...]:
    """The lines without their secrets; as they are where that changes nothing, or not line by line."""
    text = "\n".join(lines)
    if not trips(text.encode("utf-8", "surrogatepass")):
        return tuple(lines)
    try:
        clean = tuple(redact_text(text)[0].split("\n"))
    except REDACTION_FAILURES:
        return tuple(lines)  # then it was not captured either
    return clean if len(clean) == len(lines) else tuple(lines)
