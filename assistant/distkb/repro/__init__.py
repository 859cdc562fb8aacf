"""The failures of the catalogue, live: programs that show an entry, and the machines that they need."""
