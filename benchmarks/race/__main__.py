"""`python -m benchmarks.race`."""

import sys

from benchmarks.race.cli import main

sys.exit(main())
