from accelerate import PartialState
from transformers import AutoModelForCausalLM, Trainer, TrainingArguments


def main(data):
    here = {"": PartialState().local_process_index}
    model = AutoModelForCausalLM.from_pretrained("m", device_map=here)
    ref_model = AutoModelForCausalLM.from_pretrained("m", device_map="auto")
    Trainer(model=model, args=TrainingArguments("out"), train_dataset=data).train()
    print(ref_model)
