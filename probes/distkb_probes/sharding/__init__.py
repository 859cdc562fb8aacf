"""How a model would be sharded: built without memory in a pretended world, its units read, its bytes counted."""
