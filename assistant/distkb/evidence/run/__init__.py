"""The model of the run: what each rank did, in which order, and what can be seen in it."""
