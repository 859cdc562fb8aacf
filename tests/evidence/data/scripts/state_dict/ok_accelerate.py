"""Every process gathers; the main one writes."""

from accelerate import Accelerator, FullyShardedDataParallelPlugin
from net import LM, loader

accelerator = Accelerator(fsdp_plugin=FullyShardedDataParallelPlugin(state_dict_type="FULL_STATE_DICT"))
model, batches = accelerator.prepare(LM(), loader())
for batch in batches:
    accelerator.backward(model(**batch).loss)
state = accelerator.get_state_dict(model)
if accelerator.is_main_process:
    accelerator.unwrap_model(model).save_pretrained("out", state_dict=state)
