import ctypes
import os

import numpy as np

_lib = ctypes.CDLL(os.path.join(os.path.dirname(os.path.abspath(__file__)), "native", "libspectral.so"))
_f = np.ctypeslib.ndpointer(np.float32, flags="C_CONTIGUOUS")
_lib.cosine_table.argtypes = [_f, _f, ctypes.c_int, ctypes.c_int, ctypes.c_int, _f]
_lib.dtw.argtypes = [_f, ctypes.c_int, ctypes.c_int]
_lib.dtw.restype = ctypes.c_float


def dtw_distance(a, b):
    """a [n, dim], b [m, dim] float32"""
    table = np.empty((len(a), len(b)), np.float32)
    _lib.cosine_table(a, b, len(a), len(b), a.shape[1], table)
    return _lib.dtw(table, len(a), len(b)) / (len(a) + len(b))
