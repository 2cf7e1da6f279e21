"""trainer_tags.py lightning|transformers FOLDER: what the callbacks of stalltag.lightning and stalltag.transformers make of a short training
with checkpoints and evaluations, by the package itself, as "WHAT: yes" or "WHAT: NO (why)", one a line. Run by test_torch_tags."""
import logging
import os
import pickle
import sys
import warnings

os.environ.update(CUDA_VISIBLE_DEVICES="", TOKENIZERS_PARALLELISM="false", HF_HUB_OFFLINE="1")
warnings.simplefilter("ignore")
logging.disable(logging.WARNING)

import torch  # noqa: E402

import stalltag  # noqa: E402
from torch_tags_spy import Spied, say  # noqa: E402

WHICH, FOLDER = sys.argv[1:3]


def spans(said):
    """[(the tags that were held, as NAME or NAME:ID)] of each push, without the loader's."""
    held, found = [], []
    for each in said:
        if each == "pop":
            held.pop()
            continue
        held.append(each if isinstance(each, str) else f"{each[0]}:{each[1]}")
        if "data_load" not in held:
            found.append("/".join(held))
    return found


class Failure(Exception):
    """The program's own."""


def samples(n):
    return [{"x": torch.ones(2), "labels": torch.ones(1)} for _ in range(n)]


def lightning_parts():
    try:
        import lightning.pytorch as pl
    except ImportError:
        import pytorch_lightning as pl
    from stalltag.lightning import TagCallback

    class Model(pl.LightningModule):
        fail, skipped = False, None

        def __init__(self):
            super().__init__()
            self.layer = torch.nn.Linear(2, 1)

        def on_train_batch_start(self, batch, index):
            return -1 if index == self.skipped else None

        def on_train_epoch_end(self):
            self.held = stalltag.depth()

        def training_step(self, batch, index):
            if self.fail:
                raise Failure("in a step")
            return self.layer(batch["x"]).sum()

        def validation_step(self, batch, index):
            self.layer(batch["x"])

        def configure_optimizers(self):
            return torch.optim.SGD(self.parameters(), lr=0.1)

    def trainer():
        return pl.Trainer(max_epochs=2, accelerator="cpu", devices=1, logger=False, enable_progress_bar=False, enable_model_summary=False,
                          num_sanity_val_steps=0, default_root_dir=FOLDER, callbacks=[
                              pl.callbacks.ModelCheckpoint(dirpath=FOLDER, every_n_train_steps=2, save_top_k=-1), TagCallback()])
    return Model, trainer


def check_lightning():
    Model, trainer = lightning_parts()
    train, validate = torch.utils.data.DataLoader(samples(3)), torch.utils.data.DataLoader(samples(2))
    with Spied() as said:
        used = trainer()
        pickle.dumps([each for each in used.callbacks if type(each).__module__ == "stalltag.lightning"])
        used.fit(Model(), train, validate)
    seen = spans(said)
    # Lightning validates behind the last batch of an epoch; the order there to the checkpoint of that batch is Lightning's own.
    say("each step has its number", [each for each in seen if "train_step" in each], [f"train_step:{n}" for n in range(1, 7)])
    say("validations have the number of the steps before them", [each for each in seen if "eval" in each], ["eval:3", "eval:6"])
    say("checkpoints have theirs", [each for each in seen if "checkpoint_write" in each], [f"checkpoint_write:{n}" for n in (2, 4, 6)])
    say("waits for batches are tagged", said.count("data_load") >= 6, True)
    say("the trainer is as it was", "save_checkpoint" in vars(used), False)
    say("each tag is popped", stalltag.depth(), 0)
    model = Model()
    model.skipped = 1
    with Spied() as said:
        trainer().fit(model, train, validate)
    say("a step that is skipped, with the rest of its epoch, leaves no tag to the next", [each for each in spans(said) if "train_step" in each],
        ["train_step:1", "train_step:2", "train_step:2", "train_step:3"])
    say("nor to the epoch's end", model.held, 0)
    model = Model()
    model.fail = True
    try:
        trainer().fit(model, train, validate)
        say("an exception passes", "none", Failure)
    except Failure as error:
        say("an exception passes, and leaves no tag", (str(error), stalltag.depth()), ("in a step", 0))


def check_transformers():
    import inspect

    import transformers

    from stalltag.transformers import TagCallback

    class Model(torch.nn.Module):
        fail = False

        def __init__(self):
            super().__init__()
            self.layer = torch.nn.Linear(2, 1)

        def forward(self, x, labels=None):
            if self.fail:
                raise Failure("in a step")
            out = self.layer(x)
            return {"loss": (out - labels).pow(2).sum(), "logits": out}

    def trainer(model, callback, eval_dataset):
        known = inspect.signature(transformers.TrainingArguments.__init__).parameters
        evaluation = "eval_strategy" if "eval_strategy" in known else "evaluation_strategy"
        arguments = transformers.TrainingArguments(
            output_dir=FOLDER, max_steps=6, per_device_train_batch_size=1, per_device_eval_batch_size=1, save_steps=2, eval_steps=3, save_strategy="steps",
            report_to=[], disable_tqdm=True, logging_steps=2, use_cpu=True, **{evaluation: "steps"})
        made = transformers.Trainer(model=model, args=arguments, train_dataset=samples(6), eval_dataset=eval_dataset, callbacks=[callback])
        made.remove_callback(transformers.trainer_callback.PrinterCallback)
        return made

    with Spied() as said:
        callback = TagCallback()
        pickle.dumps(callback)
        trainer(Model(), callback, samples(2)).train()
    seen = spans(said)
    say("each step has its number, evaluations and checkpoints that of the step before", seen,
        ["train_step:1", "train_step:2", "checkpoint_write:2", "train_step:3", "eval:3", "train_step:4", "checkpoint_write:4",
         "train_step:5", "train_step:6", "eval:6", "checkpoint_write:6"])
    say("waits for batches are tagged", said.count("data_load") >= 6, True)
    say("each tag is popped", stalltag.depth(), 0)
    with Spied() as said:
        trainer(Model(), TagCallback(), {"a": samples(2), "b": samples(2)}).train()
    say("the evaluation of a second dataset is none of the checkpoint that follows, from its second batch on",
        [each for each in spans(said) if "train_step" not in each],
        ["checkpoint_write:2", "eval:3", "eval:3", "checkpoint_write:4", "eval:6", "checkpoint_write:6", "eval:6", "checkpoint_write:6"])
    model = Model()
    model.fail = True
    try:
        with TagCallback() as callback:
            trainer(model, callback, samples(2)).train()
        say("an exception passes", "none", Failure)
    except Failure as error:
        say("an exception passes, and leaves no tag behind the block", (str(error), stalltag.depth()), ("in a step", 0))


{"lightning": check_lightning, "transformers": check_transformers}[WHICH]()
