import logging
import queue
from concurrent.futures import ThreadPoolExecutor

from .audio import load_utt

log = logging.getLogger("feed")


class ClipFeed:
    """Decodes the clips of one chunk on a few threads and hands them out as they come."""

    def __init__(self, root, utts, threads=2, depth=8):
        self.q = queue.Queue(depth)
        self.n = len(utts)
        self.pool = ThreadPoolExecutor(threads)
        for u in utts:
            self.pool.submit(self._decode, root, u)

    def _decode(self, root, utt):
        try:
            item = load_utt(root, utt)
        except Exception as e:
            item = e
        self.q.put((utt, item))

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.pool.shutdown(wait=True)

    def __iter__(self):
        for _ in range(self.n):
            utt, item = self.q.get()
            if isinstance(item, Exception):
                log.error("%s: %s: %s", utt, type(item).__name__, item)
                raise item
            yield item
