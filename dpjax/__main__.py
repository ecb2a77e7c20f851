"""``python -m dpjax``, the same as the command ``dpjax``."""

import sys

from dpjax.cli import main

sys.exit(main())
