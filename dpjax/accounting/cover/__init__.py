"""Accounting of private set cover: the stopping game, closed forms, calibration."""
