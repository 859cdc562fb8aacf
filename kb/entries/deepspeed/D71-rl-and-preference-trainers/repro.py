"""D71: GRPO compares eight answers to each prompt, and the batch over both ranks holds four.

torchrun --standalone --nproc-per-node 2 repro.py [--fixed]
"""

from __future__ import annotations

import argparse
import logging
import os
import tempfile
from pathlib import Path

import torch

WORDS = ["the", "rank", "waits", "for", "a", "call", "that", "never", "comes", "again"]
GENERATIONS = 8

log = logging.getLogger("train")


def vocabulary() -> object:
    """A tokenizer of a few words, made here and not downloaded."""
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    words = {word: number for number, word in enumerate(["<pad>", "<eos>", "<unk>", *WORDS])}
    tokenizer = Tokenizer(models.WordLevel(words, unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, pad_token="<pad>", eos_token="<eos>", unk_token="<unk>", padding_side="left"
    )


def lengths(completions: list[str], **_: object) -> list[float]:
    """Reward of an answer: its number of words."""
    return [float(len(text.split())) for text in completions]


def train(accumulation: int, folder: Path) -> None:
    """Two steps of GRPO with a model of two thousand weights."""
    # Imported here, since the libraries read the environment.
    from datasets import Dataset
    from transformers import GPT2Config, GPT2LMHeadModel
    from trl import GRPOConfig, GRPOTrainer

    torch.manual_seed(0)
    size = GPT2Config(vocab_size=16, n_positions=64, n_embd=16, n_layer=1, n_head=2, bos_token_id=1, eos_token_id=1)
    arguments = GRPOConfig(
        output_dir=str(folder),
        per_device_train_batch_size=2,
        gradient_accumulation_steps=accumulation,
        num_generations=GENERATIONS,
        max_completion_length=4,
        max_steps=2,
        logging_steps=1,
        save_strategy="no",
        report_to="none",
        use_cpu=True,
        bf16=False,
        gradient_checkpointing=False,
        disable_tqdm=True,
    )
    trainer = GRPOTrainer(
        model=GPT2LMHeadModel(size),
        reward_funcs=lengths,
        args=arguments,
        train_dataset=Dataset.from_dict({"prompt": [f"the rank {word}" for word in WORDS]}),
        processing_class=vocabulary(),
    )
    trainer.train()
    log.info("trained %d steps", trainer.state.global_step)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--fixed", action="store_true", help="accumulate twice, so that the batch holds whole groups")
    fixed = parser.parse_args().fixed
    torch.set_num_threads(1)
    os.environ |= {"HF_HUB_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "false"}
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
    with tempfile.TemporaryDirectory() as folder:
        train(2 if fixed else 1, Path(folder))


if __name__ == "__main__":
    main()
