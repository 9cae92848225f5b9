"""python -m likelier.cli"""

import sys

from likelier.cli import main

sys.exit(main())
