"""Trials, cells and studies run."""
