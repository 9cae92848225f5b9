"""Values, arrays and files: what is written to disk, and how."""
