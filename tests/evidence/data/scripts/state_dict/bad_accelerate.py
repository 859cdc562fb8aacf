"""The main process alone gathers a model that Accelerate shards."""

from accelerate import Accelerator, FullyShardedDataParallelPlugin
from net import LM, loader

accelerator = Accelerator(fsdp_plugin=FullyShardedDataParallelPlugin(state_dict_type="FULL_STATE_DICT"))
model, batches = accelerator.prepare(LM(), loader())
for batch in batches:
    accelerator.backward(model(**batch).loss)
if accelerator.is_main_process:
    state = accelerator.get_state_dict(model)  # distkb: script.state-dict-on-some-ranks
    accelerator.unwrap_model(model).save_pretrained("out", state_dict=state)
