"""The files that `dpjax new` writes: each is code that works, and beside it is its test."""
