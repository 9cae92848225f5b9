"""`likelier serve`: predictions over HTTP, labels that come later, and a log that restores it all."""
