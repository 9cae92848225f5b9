"""`python -m benchmarks.cliffs`."""

import sys

from benchmarks.cliffs.cli import main

sys.exit(main())
