"""Reads what a person wrote about a failure."""
