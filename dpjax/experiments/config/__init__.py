"""Studies and objects from text, and back."""
