"""`python -m airoas.cli`."""

import sys

from airoas.cli import main

if __name__ == "__main__":
    sys.exit(main())
