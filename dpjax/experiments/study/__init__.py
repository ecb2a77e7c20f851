"""Studies as people make them: in Python, from files, on clusters."""
