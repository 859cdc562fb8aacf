"""Sessions on the shared hosts: one small file per process, renewed while it works."""
import json
import os
import time

FOLDER = os.environ.get("LAB_SESSIONS", "sessions")


class Session:
    def __init__(self, host, slot):
        os.makedirs(FOLDER, exist_ok=True)
        self.path = os.path.join(FOLDER, f"{host}-{slot}.json")
        with open(self.path, "w") as f:
            json.dump({"pid": os.getpid(), "host": host, "slot": slot, "opened": time.time()}, f)

    def renew(self):
        os.utime(self.path)

    def close(self):
        if os.path.exists(self.path):
            os.remove(self.path)
