"""Where the SDK of the Model Context Protocol is not installed, its tests are not collected."""

from __future__ import annotations

from importlib.util import find_spec

collect_ignore = [] if find_spec("mcp") else ["test_mcp.py"]
