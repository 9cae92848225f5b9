"""Online learning: rows one by one."""
