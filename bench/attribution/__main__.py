"""``python -m bench.attribution`` is ``python -m bench attribution``."""

import sys

from bench.attribution.command import main

if __name__ == "__main__":
    sys.exit(main())
