"""A model of Transformers behind `prepare`."""

import torch
from accelerate import Accelerator
from stuff import loader
from transformers import AutoModelForCausalLM, AutoTokenizer


def main():
    accelerator = Accelerator()
    tok = AutoTokenizer.from_pretrained("gpt2")
    model = AutoModelForCausalLM.from_pretrained("gpt2")
    opt = torch.optim.AdamW(model.parameters(), 1e-5)
    model, opt, dl = accelerator.prepare(model, opt, loader(tok))
    for step, batch in enumerate(dl):
        accelerator.backward(model(**batch).loss)
        opt.step()
        opt.zero_grad()
        if step % 100 == 0:
            with torch.no_grad():
                out = model.generate(batch["input_ids"][:1], max_new_tokens=20)  # distkb: script.attribute-of-wrapper
            accelerator.print(tok.decode(out[0]))
    model.save_pretrained("out")  # distkb: script.attribute-of-wrapper


main()
