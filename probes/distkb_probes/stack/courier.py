"""distkb-courier: runs on a node that has nothing of distkb.

The probes come on stdin and are imported from memory; nothing is written there. The answer goes out in short marked
lines, which no launcher splits or mixes up with what else is printed there.
"""

import base64
import contextlib
import json
import os
import signal
import sys
import zlib

given = json.load(sys.stdin)
if hasattr(os, "memfd_create"):
    memory = os.memfd_create("distkb")
    os.write(memory, base64.b64decode(given["probes"]))
    sys.path.insert(0, f"/proc/self/fd/{memory}")
signal.alarm(int(given["request"]["deadline_s"]) + 5)
from distkb_probes import stacks  # noqa: E402
from distkb_probes._report import Report, Stopped  # noqa: E402

report = Report("stacks")
with contextlib.suppress(Stopped):
    stacks.run(given["request"], report)
said = base64.b64encode(zlib.compress(json.dumps(report.document()).encode())).decode()
parts = [said[at : at + 2000] for at in range(0, len(said), 2000)]
for number, part in enumerate(parts, 1):
    print("distkb-node", f"{number}/{len(parts)}", part, flush=True)  # noqa: T201
