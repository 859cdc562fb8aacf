import datetime
import json
import os
import uuid


class Run:
    """A folder per run with the settings and one json line per record."""

    def __init__(self, root, project, settings):
        stamp = datetime.datetime.now().strftime("%Y%m%d_%H%M%S")
        self.id = f"{project}-{stamp}-{uuid.uuid4().hex[:6]}"
        self.dir = os.path.join(root, self.id)
        os.makedirs(self.dir)
        with open(os.path.join(self.dir, "settings.json"), "w") as f:
            json.dump(settings, f, indent=1)
        self.f = open(os.path.join(self.dir, "history.jsonl"), "a")
        print(f"run {self.id} -> {self.dir}")

    def log(self, **row):
        self.f.write(json.dumps(row) + "\n")
        self.f.flush()

    def close(self):
        self.f.close()
