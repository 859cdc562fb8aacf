"""The network probe's parts: what this host would use, and whether another one can be reached with it."""
