"""``python -m custody`` is the ``custody`` command."""

from custody.cli.main import run

run()
