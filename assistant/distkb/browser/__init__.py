"""The program inside a page of a browser: what its script asks, and what it is shown."""
