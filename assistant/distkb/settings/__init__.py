"""What a run is set up with: which names are read, which timers run, and for how long."""
