"""``python -m dpjax.cli``."""

import sys

from dpjax.cli import main

sys.exit(main())
