"""The files that `dpjax new` writes, working code with tests, and those of `dpjax cluster-script`."""
