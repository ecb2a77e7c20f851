"""What is measured: tasks, settings, curves and their sweep."""
