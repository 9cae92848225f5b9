"""`python -m benchmarks.service`."""

import sys

from benchmarks.service.cli import main

sys.exit(main())
