"""The lab's run board, as deployed on the login node (runs + scalars over HTTP)."""
import json
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

CREATE_EVERY = 25.0
lock = threading.Lock()
state = {"next": 0.0, "runs": 0, "points": 0}


class Handler(BaseHTTPRequestHandler):
    def do_POST(self):
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        code, reply, extra = 200, {}, {}
        with lock:
            if self.path == "/api/runs":
                now = time.time()
                if now >= state["next"]:
                    state["next"] = now + CREATE_EVERY
                    state["runs"] += 1
                    reply = {"id": f"r{state['runs']:04d}"}
                else:
                    code, extra = 429, {"Retry-After": str(int(state["next"] - now) + 1)}
            else:
                state["points"] += 1
        body = json.dumps(reply).encode()
        self.send_response(code)
        for k, v in extra.items():
            self.send_header(k, v)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, fmt, *args):
        sys.stderr.write(f"{time.strftime('%H:%M:%S')} {fmt % args}\n")


if __name__ == "__main__":
    ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
