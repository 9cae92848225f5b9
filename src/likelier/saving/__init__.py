"""Models in files: arrays and a header that says what they are, read without running anything."""
