"""What a model of a given size needs on each rank, what of it fits, and the launch to start from."""
