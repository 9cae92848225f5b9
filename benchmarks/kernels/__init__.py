"""Every kernel of the core on one thread, at the size of the race: 50 columns, 10 classes."""
