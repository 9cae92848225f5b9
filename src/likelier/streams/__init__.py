"""Rows that come one by one: read, hashed, answered, learned and judged, in a process that starts fast.

Nothing here imports more than NumPy and the native core.
"""
