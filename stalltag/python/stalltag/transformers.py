"""Tags from Hugging Face's Trainer.

    from stalltag.transformers import TagCallback

    trainer = transformers.Trainer(..., callbacks=[TagCallback()])

    train_step         from a step's begin to its end; the id is the step's number, global_step + 1 at its begin
    eval               from the end of the step that asks for an evaluation to the evaluation's end; the id is global_step
    checkpoint_write   from there, or from the evaluation's end, until the checkpoint is saved; the id is global_step
    data_load          waits for the next batch of torch's DataLoader, by stalltag.torch (data_load=False: none)

Callbacks are not told when an evaluation or a save begins, so a Trainer's evaluate() and save_model() that the program calls
by itself have no tag, nor has a save that only the evaluation's metric brings about (save_strategy="best"). Of several
eval_datasets each but the first is noticed behind its first batch, which counts as what follows the evaluation. They are not
told of exceptions either: with

    with TagCallback() as tags:
        transformers.Trainer(..., callbacks=[tags]).train()

what an exception left open ends with the block, otherwise with the next train().
"""
from typing import Any, Optional

from transformers import TrainerCallback

from stalltag._stages import Stages
import stalltag.torch

__all__ = ["TagCallback"]


class TagCallback(TrainerCallback):  # type: ignore[misc,unused-ignore]
    """Give it to the Trainer. One may serve several trainers, one after the other."""

    def __init__(self, data_load: bool = True) -> None:
        self._data_load = data_load
        self._stages = Stages()
        self._evaluating = False  # since the step's end: the Trainer evaluates once for each of its eval_datasets
        self._loads: Optional[stalltag.torch.RecordFunctions] = None

    def __enter__(self) -> "TagCallback":
        return self

    def __exit__(self, exc_type: Any, exc: Any, traceback: Any) -> None:
        self._end_all()

    def _end_stages(self) -> None:
        self._stages.end_all()
        self._evaluating = False

    def _end_all(self) -> None:
        self._end_stages()
        if self._loads is not None:
            self._loads.stop()
            self._loads = None

    def _begin_what_follows(self, state: Any, control: Any, evaluated: bool = False) -> None:
        if control.should_evaluate and not evaluated:
            self._stages.begin("eval", state.global_step)
            self._evaluating = True
        elif control.should_save:
            self._stages.begin("checkpoint_write", state.global_step)

    def on_train_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        self._end_all()
        if self._data_load:
            self._loads = stalltag.torch.record_functions(["data_load"])

    def on_train_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        self._end_all()

    def on_step_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        self._end_stages()
        self._stages.begin("train_step", state.global_step + 1)

    def on_step_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        self._end_stages()
        self._begin_what_follows(state, control)

    def on_epoch_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        self._end_stages()
        self._begin_what_follows(state, control)

    def on_evaluate(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        if "eval" in self._stages.open:
            self._stages.end_all()
            self._begin_what_follows(state, control, evaluated=True)

    def on_prediction_step(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Comes behind a batch. The first of another dataset says that the evaluation is not over."""
        if self._evaluating and "eval" not in self._stages.open:
            self._stages.end_all()
            self._stages.begin("eval", state.global_step)

    def on_save(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        self._end_stages()
