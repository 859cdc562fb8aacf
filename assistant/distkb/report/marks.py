"""What stands out in the texts of the catalogue: code between backticks, and ids of entries, causes and fixes."""

from __future__ import annotations

import re

CODE = re.compile(r"`([^`\n]+)`")
ID = re.compile(r"(?<![\w.#/-])((?:D|MN|M|U)\d{1,3})(?:\.[a-z](?:\.\d{1,2})?)?(?![\w-])", re.ASCII)
"""An id, whose group is the entry; a particle of Korean may follow at once."""
