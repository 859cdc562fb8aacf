"""The server for coding agents: the command line, called over the Model Context Protocol."""
