"""Ranks that really communicate: how they are launched and watched, and what their silence means."""
