"""The report of a comparison: one page that opens without a network."""

from likelier.report.page import written

__all__ = ["written"]
