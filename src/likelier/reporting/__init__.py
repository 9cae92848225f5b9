"""The report of a comparison: one page that opens without a network."""

from likelier.reporting.page import written

__all__ = ["written"]
