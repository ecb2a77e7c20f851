"""The files that `dpjax new` writes: working code, each with its test."""
