"""Client of the lab's run board."""
import json
import logging
import os
import queue
import threading
import time
import urllib.error
import urllib.request

log = logging.getLogger("runboard")


class Run:
    def __init__(self, project, name, config=None, url=None):
        self.url = url or os.environ.get("RUNBOARD_URL", "http://127.0.0.1:8765")
        self.q = queue.Queue()
        self.id = self._create({"project": project, "name": name, "config": config or {}})["id"]
        log.info("run %s/%s (%s)", project, name, self.id)
        threading.Thread(target=self._pump, daemon=True).start()

    def _post(self, path, payload):
        req = urllib.request.Request(self.url + path, json.dumps(payload).encode(), {"Content-Type": "application/json"})
        with urllib.request.urlopen(req, timeout=30) as r:
            return json.loads(r.read() or b"{}")

    def _create(self, payload):
        while True:
            try:
                return self._post("/api/runs", payload)
            except urllib.error.HTTPError as e:
                if e.code not in (429, 503):
                    raise
                log.debug("HTTP %d", e.code)
                time.sleep(float(e.headers.get("Retry-After", 5)))

    def _pump(self):
        while (item := self.q.get()) is not None:
            self._post(f"/api/runs/{self.id}/scalars", item)

    def log(self, step, **values):
        self.q.put({"step": step, **values})
