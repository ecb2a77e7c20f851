"""The commands, one a module, whose ``run`` returns an `output.Answer`."""
