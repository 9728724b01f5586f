"""What the service writes down while it runs: one JSON object a line on stderr, and never a question or a token."""

import json
import logging
import sys

from custody.core.wire.time import text_from

_NS = 1_000_000_000
_EXTRA = ("token", "project")
"""What a line may say beside its words; ``token`` is a token's name, which opens nothing."""


class JsonLines(logging.Formatter):
    """A record as one line."""

    def format(self, record: logging.LogRecord) -> str:
        """When, how bad, who says it, what."""
        said = {
            "at": text_from(int(record.created * _NS)),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
            **{name: getattr(record, name) for name in _EXTRA if hasattr(record, name)},
        }
        if record.exc_info:
            said["trace"] = self.formatException(record.exc_info)
        return json.dumps(said)


def set_up() -> None:
    """Have the service's own lines and the server's warnings on stderr."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines())
    for name, level in (("custody.service", logging.INFO), ("uvicorn", logging.WARNING)):
        logger = logging.getLogger(name)
        logger.handlers = [handler]
        logger.setLevel(level)
        logger.propagate = False
