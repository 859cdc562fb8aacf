"""Reads what a failing run left behind: logs, a person's words and stated facts."""
