"""The command line: one module per command; each imports what it needs when it runs."""
