"""Checkpoints that ranks print, by distkb's tracer or by hand: which rank stopped where."""

from distkb.evidence.readers.traces.read_traces import TraceReader, find_traces, read_traces

__all__ = ["TraceReader", "find_traces", "read_traces"]
