"""Statistical audits: events chosen on some runs of a program are counted on others."""
