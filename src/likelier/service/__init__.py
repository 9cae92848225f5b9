"""`likelier serve`: predictions over HTTP, labels that come later, and an event log from which all state is rebuilt."""
