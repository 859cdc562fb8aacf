"""The doctor for distributed PyTorch training."""

__version__ = "0.2.0"
