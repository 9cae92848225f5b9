"""What passes cost, what this machine can do, and what follows for more machines. See docs/scaling.md."""
