"""A small object store for the team's laptops: GET /photos/<n> returns one packed picture."""
import argparse
import io
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np

p = argparse.ArgumentParser()
p.add_argument("--port", type=int, default=29675)
p.add_argument("--rtt-ms", type=float, default=25.0)
args = p.parse_args()


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def do_GET(self):
        n = int(self.path.rsplit("/", 1)[1])
        rng = np.random.default_rng(n)
        yy, xx = np.mgrid[0:32, 0:32] / 32.0
        a, b, c = rng.uniform(1, 9, 3)
        img = np.sin(a * xx + c) * np.cos(b * yy) + 0.05 * rng.normal(size=(32, 32))
        buf = io.BytesIO()
        np.savez_compressed(buf, img=img.astype("float16"))
        time.sleep(args.rtt_ms / 1000)
        self.send_response(200)
        self.send_header("Content-Length", str(buf.tell()))
        self.end_headers()
        self.wfile.write(buf.getvalue())

    def log_message(self, *a):
        pass


ThreadingHTTPServer(("127.0.0.1", args.port), Handler).serve_forever()
