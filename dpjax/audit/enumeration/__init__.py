"""Exact audits: every outcome of every draw of a program is followed, and its law is compared on neighbors."""
