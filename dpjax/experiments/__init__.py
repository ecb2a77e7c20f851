"""Studies: tasks, sweeps, searches for n*, and their stores."""
