"""Collects what the environment probe judges: variables, ports, names, devices, limits, versions, processes."""
