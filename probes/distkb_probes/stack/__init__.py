"""Parts of the stacks probe: which processes, how they are dumped, and what forbids it."""
