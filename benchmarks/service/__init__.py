"""`likelier serve` under load: beside an echo endpoint of the same server, and beside River behind it."""
