"""Figures of results, as files with their metadata. No global state: neither pyplot nor rcParams is modified."""

from .curves import plot_curve as plot_curve
from .files import read_metadata as read_metadata
from .laws import plot_laws as plot_laws
from .privacy import plot_privacy as plot_privacy
