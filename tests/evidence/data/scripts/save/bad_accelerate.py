from accelerate import Accelerator


def train(model, args):
    accelerator = Accelerator()
    model = accelerator.prepare(model)
    if accelerator.is_main_process:
        accelerator.save_state(args.output)  # distkb: script.accelerate-save-on-some-ranks
