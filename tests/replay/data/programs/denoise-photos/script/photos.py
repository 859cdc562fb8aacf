import http.client
import io

import numpy as np
import torch
from torch.utils.data import Dataset


class BucketPhotos(Dataset):
    def __init__(self, host, port, first, count):
        self.host, self.port, self.first, self.count = host, port, first, count
        self.conn = None

    def __len__(self):
        return self.count

    def __getitem__(self, i):
        if self.conn is None:
            self.conn = http.client.HTTPConnection(self.host, self.port, timeout=10)
        self.conn.request("GET", f"/photos/{self.first + i}")
        img = np.load(io.BytesIO(self.conn.getresponse().read()))["img"].astype("float32")
        if np.random.rand() < 0.5:
            img = img[:, ::-1].copy()
        return torch.from_numpy(img)[None]
