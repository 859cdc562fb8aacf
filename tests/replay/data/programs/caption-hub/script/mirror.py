"""models.lab.local: read-only mirror of a few repos."""
import hashlib
import json
import logging
import os
import re
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "mirror_data")
QUOTA = int(os.environ.get("MIRROR_QUOTA", "135"))
WINDOW = 300
hits, lock = {}, threading.Lock()
logging.basicConfig(filename=sys.argv[2], level=logging.INFO, format="%(asctime)s %(message)s")


class H(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, fmt, *args):
        logging.info("%s %s", self.client_address[0], fmt % args)

    def admit(self):
        now = time.time()
        with lock:
            start, n = hits.get(self.client_address[0], (now, 0))
            if now - start > WINDOW:
                start, n = now, 0
            hits[self.client_address[0]] = (start, n + 1)
        left = QUOTA - n - 1
        self.limit = {"RateLimit": f'"api";r={max(left, 0)};t={int(start + WINDOW - now)}',
                      "RateLimit-Policy": f'"fixed window";"api";q={QUOTA};w={WINDOW}'}
        return left >= 0

    def reply(self, code, body=b"", head=None, n=None):
        self.send_response(code)
        for k, v in {**self.limit, **(head or {})}.items():
            self.send_header(k, v)
        self.send_header("Content-Length", str(len(body) if n is None else n))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def do_GET(self):
        if not self.admit():
            return self.reply(429, b"Too Many Requests", {"Content-Type": "text/plain"})
        path = self.path.split("?")[0]
        m = re.match(r"/api/models/([^/]+/[^/]+)(?:/revision/.*|/tree/.*)?$", path)
        if m:
            repo = os.path.join(ROOT, m[1])
            files = sorted(os.listdir(repo))
            if "/tree/" in path:
                doc = [{"type": "file", "path": f, "oid": self.etag(os.path.join(repo, f)),
                        "size": os.path.getsize(os.path.join(repo, f))} for f in files]
            else:
                doc = {"id": m[1], "modelId": m[1], "sha": "a" * 40, "private": False, "tags": [], "downloads": 0,
                       "likes": 0, "siblings": [{"rfilename": f} for f in files]}
            return self.reply(200, json.dumps(doc).encode(), {"Content-Type": "application/json"})
        m = re.match(r"/([^/]+/[^/]+)/resolve/[^/]+/(.+)$", path)
        if m and os.path.exists(os.path.join(ROOT, m[1], m[2])):
            f = os.path.join(ROOT, m[1], m[2])
            data = open(f, "rb").read()
            return self.reply(200, data, {"ETag": f'"{self.etag(f)}"', "X-Repo-Commit": "a" * 40,
                                          "Content-Type": "application/octet-stream"})
        self.reply(404, b"", {"X-Error-Code": "EntryNotFound"})

    do_HEAD = do_GET

    @staticmethod
    def etag(f):
        return hashlib.sha1(open(f, "rb").read()).hexdigest()


ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), H).serve_forever()
