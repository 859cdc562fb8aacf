import time

from accelerate import Accelerator


def main(loader, model, optimizer, minutes):
    accelerator = Accelerator()
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    started = time.monotonic()
    for batch in loader:
        if time.monotonic() - started > minutes * 60:  # distkb: script.decided-by-own-clock
            break
        loss = model(batch).sum()
        accelerator.backward(loss)
        optimizer.step()
    accelerator.wait_for_everyone()
