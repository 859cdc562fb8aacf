import argparse

import lightning as L
import yaml

from factory import make_callbacks, make_plugins, make_strategy
from tiles import Tiles
from unet import WaterNet


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--conf", default="conf/two_procs.yaml")
    ap.add_argument("--epochs", type=int)
    ap.add_argument("--background-save", action="store_true")
    ap.add_argument("--seed", type=int, default=0)
    args = ap.parse_args()

    with open(args.conf) as f:
        conf = yaml.safe_load(f)
    if args.epochs:
        conf["trainer"]["max_epochs"] = args.epochs
    L.seed_everything(args.seed, workers=True)

    data = Tiles(**conf["data"])
    model = WaterNet(**conf["model"])
    print("parameters", sum(p.numel() for p in model.parameters()), "conf", args.conf, flush=True)
    trainer = L.Trainer(
        strategy=make_strategy(conf["strategy"]),
        plugins=make_plugins(args),
        callbacks=make_callbacks(conf["strategy"]),
        logger=False,
        enable_model_summary=False,
        num_sanity_val_steps=0,
        **conf["trainer"],
    )
    trainer.fit(model, data)
    print("best", trainer.checkpoint_callback.best_model_path, flush=True)


if __name__ == "__main__":
    main()
