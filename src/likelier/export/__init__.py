"""Fitted models as programs elsewhere: a description of what they compute, and what is written from it."""
