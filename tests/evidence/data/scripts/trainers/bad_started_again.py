import time
from pathlib import Path

import lightning as L


def main(module, data):
    run_dir = Path("runs") / time.strftime("%m%d-%H%M%S")
    run_dir.mkdir(parents=True, exist_ok=True)  # distkb: script.directory-by-each-start
    (run_dir / "vocabulary.txt").write_text("a b c")
    trainer = L.Trainer(accelerator="gpu", devices=[0, 1], default_root_dir=run_dir)
    trainer.fit(module, data)
