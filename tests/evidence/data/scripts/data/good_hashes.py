"""Hashes that are the same in every process, and one that is not but divides nothing."""

import zlib

import torch.distributed as dist


class Key:
    def __init__(self, name, size):
        self.name = name
        self.size = size

    def __hash__(self):
        return hash(self.name) % 1000


def mine(slugs):
    size = dist.get_world_size()
    return [slug for slug in slugs if zlib.crc32(slug.encode()) % size == dist.get_rank()]


def bucket(number, buckets):
    return hash(int(number)) % buckets


def known(text, seen):
    return hash(text) in seen
