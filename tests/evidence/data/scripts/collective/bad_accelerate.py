from accelerate import Accelerator

accelerator = Accelerator()


def evaluate(model, loader):
    if accelerator.is_main_process:
        for batch in loader:
            prediction = accelerator.gather_for_metrics(model(batch))  # distkb: script.collective-on-some-ranks
            print(prediction)


def end():
    accelerator.is_local_main_process and accelerator.wait_for_everyone()  # distkb: script.collective-on-some-ranks
