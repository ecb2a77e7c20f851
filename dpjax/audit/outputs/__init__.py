"""Outputs of programs as numbers, outcomes and events, and their names."""
