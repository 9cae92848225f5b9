"""Rows that come one by one: read, hashed, answered, learned from and judged; it starts fast.

Nothing here imports more than NumPy and the native core.
"""
