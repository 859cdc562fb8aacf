from transformers import AutoModelForCausalLM


def main(inputs):
    model = AutoModelForCausalLM.from_pretrained("m", device_map="auto")
    return model.generate(**inputs)
