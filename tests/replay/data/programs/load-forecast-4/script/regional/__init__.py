from .data import REGIONS, LoadWindows
from .net import LoadNet
