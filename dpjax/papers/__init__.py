"""Headline tables and figures of the papers as studies."""
