"""What the loader probe does on each pretended rank, and what it concludes from all of them."""
