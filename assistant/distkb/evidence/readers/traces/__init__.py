"""Checkpoints that ranks print, by distkb's tracer or by hand: which rank stopped where."""

from distkb.evidence.readers.traces.read import find_traces, only_traces, read_traces

__all__ = ["find_traces", "only_traces", "read_traces"]
