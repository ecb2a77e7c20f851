"""The files that `dpjax new` writes: working code with tests."""
