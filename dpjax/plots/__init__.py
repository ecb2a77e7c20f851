"""Figures of results, as files that carry what made them. No global state: neither pyplot nor rcParams is touched."""

from .curves import plot_curve as plot_curve
from .files import read_metadata as read_metadata
from .privacy import plot_privacy as plot_privacy
