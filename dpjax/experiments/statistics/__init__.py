"""Statistics of trials: searches, intervals, bands, fits, bins of errors."""
