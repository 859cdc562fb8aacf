"""Looks the texts and names of the catalogue up in released packages; nothing else of distkb uses the network."""
