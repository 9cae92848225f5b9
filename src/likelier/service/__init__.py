"""`likelier serve`: predictions over HTTP, labels that come later, and an event log that is the truth."""
