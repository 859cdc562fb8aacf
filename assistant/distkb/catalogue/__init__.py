"""What distkb knows: typed entries, read from YAML, checked, and compiled to one file."""
