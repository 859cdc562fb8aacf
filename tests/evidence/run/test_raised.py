"""A frame and the error that was raised in it count together: sizes that differ where a state is brought back."""

from __future__ import annotations

import pytest
from run_samples import observed, scan

STATE, LOADED = "raised.state-of-other-sizes", "raised.loaded-other-sizes"
SIZES = "RuntimeError: The size of tensor a (24) must match the size of tensor b (32) at non-singleton dimension 0"
ADAM = """  File "train.py", line 40, in main
    optimizer.step()
  File "/env/lib/python3.11/site-packages/torch/optim/optimizer.py", line 533, in wrapper
    out = func(*args, **kwargs)
  File "/env/lib/python3.11/site-packages/torch/optim/adam.py", line 247, in step
    adam(
  File "/env/lib/python3.11/site-packages/torch/optim/adam.py", line 428, in _multi_tensor_adam
    torch._foreach_lerp_(device_exp_avgs, device_grads, 1 - beta1)
"""


def own(path: str, function: str, line: str) -> str:
    """Frames of a program whose innermost one is the user's own."""
    return f'  File "train.py", line 12, in main\n    run()\n  File "{path}", line 40, in {function}\n    {line}\n'


COPY = "v.to_local().copy_(saved[name])"


@pytest.mark.parametrize(
    ("frames", "error", "found"),
    [
        (ADAM, SIZES, {STATE}),
        (ADAM.replace("_multi_tensor_adam", "_single_tensor_sgd").replace("adam.py", "sgd.py"), SIZES, {STATE}),
        (own("kws/checkpoint.py", "load", COPY), SIZES, {LOADED}),
        (own("train.py", "load_checkpoint", COPY), SIZES, {LOADED}),
        (own("train.py", "resume", COPY), SIZES, {LOADED}),
        (own("train.py", "Trainer.restore_state", COPY), SIZES, {LOADED}),
        (own("model.py", "forward", "return x + self.bias"), SIZES, set()),
        (own("data.py", "load_image", "crop += noise"), SIZES, set()),
        (own("data.py", "load", "return self.loader(x) + y"), "ValueError: too few columns", set()),
        (own("checkpoint.py", "save", COPY), SIZES, set()),
        (own("checkpoint.py", "load", COPY), SIZES.replace("24", "0"), set()),
        (ADAM, "RuntimeError: CUDA error: an illegal memory access was encountered", set()),
    ],
)
def test_sizes_that_differ_where_a_state_is_brought_back(frames: str, error: str, found: set[str]) -> None:
    """The error counts in the optimizer's update and in code that loads, and not where a batch or an image is made."""
    text = f"step 1 loss 2.0\nTraceback (most recent call last):\n{frames}{error}\n"
    seen = observed(scan(text, "rank_0.log", 0))
    assert {name for name in seen if name.startswith("raised.")} == found
    for name in found:
        assert seen[name].quotes[0].rank == 0


def test_a_size_that_differs_below_what_loads_is_none_of_the_loading() -> None:
    """Only the innermost of the user's frames counts: what `resume` calls afterwards fails for another reason."""
    below = '  File "model.py", line 9, in forward\n    return x + y\n'
    text = f"step 1\nTraceback (most recent call last):\n{own('t.py', 'resume', 'model(x)')}{below}{SIZES}\n"
    assert not {name for name in observed(scan(text, "rank_0.log", 0)) if name.startswith("raised.")}
