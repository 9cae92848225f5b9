"""Rows that come one by one: read, hashed, predicted, learned and evaluated, in a process that starts fast.

Nothing here imports more than NumPy and the native core.
"""
