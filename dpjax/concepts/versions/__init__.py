"""Version spaces of classes by their structure, for domains of any size."""

from .base import Versions as Versions
from .copies import Copies as Copies
