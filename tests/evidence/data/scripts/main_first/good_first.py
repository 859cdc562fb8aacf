from accelerate import Accelerator

accelerator = Accelerator()
with accelerator.main_process_first():
    text = open("data.txt").read()
    if accelerator.is_main_process:
        print(len(text))
accelerator.wait_for_everyone()
