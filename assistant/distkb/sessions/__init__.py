"""Sessions on disk: saved as they go, resumed, listed and exported."""
