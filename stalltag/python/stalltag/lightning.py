"""Tags from Lightning's trainer.

    from stalltag.lightning import TagCallback

    trainer = lightning.pytorch.Trainer(callbacks=[TagCallback()])

    train_step         from a batch's begin to its end; the id is the number of the step that it works for: global_step + 1
    checkpoint_write   while trainer.save_checkpoint() runs, ModelCheckpoint's included; the id is global_step
    eval               validation; test and predict likewise
    data_load          waits for the next batch of torch's DataLoader, by stalltag.torch (data_load=False: none)

A checkpoint that another thread writes (AsyncCheckpointIO) is not tagged there: `record --tag-files` tags it by its folder.
"""
import sys
from typing import Any, Callable, Optional

from stalltag._stages import Stages
import stalltag.torch

# The package whose Trainer the program uses: both may be installed, and each is large.
if "pytorch_lightning" in sys.modules and "lightning.pytorch" not in sys.modules:
    from pytorch_lightning import Callback
else:
    try:
        from lightning.pytorch import Callback  # type: ignore[assignment,unused-ignore]
    except ImportError:
        from pytorch_lightning import Callback  # type: ignore[assignment,unused-ignore]

__all__ = ["TagCallback"]


class TagCallback(Callback):  # type: ignore[misc,unused-ignore]
    """Give it to the Trainer. One may serve several trainers, one after the other."""

    def __init__(self, data_load: bool = True) -> None:
        super().__init__()
        self._data_load = data_load
        self._stages = Stages()
        self._loads: Optional[stalltag.torch.RecordFunctions] = None

    def setup(self, trainer: Any, pl_module: Any, stage: str) -> None:
        if self._data_load and self._loads is None:
            self._loads = stalltag.torch.record_functions(["data_load"])
        if "save_checkpoint" not in vars(trainer):
            trainer.save_checkpoint = self._tagging(trainer, trainer.save_checkpoint)

    def teardown(self, trainer: Any, pl_module: Any, stage: str) -> None:
        self._stages.end_all()
        vars(trainer).pop("save_checkpoint", None)
        if self._loads is not None:
            self._loads.stop()
            self._loads = None

    def _tagging(self, trainer: Any, save: Callable[..., Any]) -> Callable[..., Any]:
        def save_checkpoint(*args: Any, **kwargs: Any) -> Any:
            with stalltag.tag("checkpoint_write", id=max(0, int(trainer.global_step))):
                return save(*args, **kwargs)

        return save_checkpoint

    def on_train_batch_start(self, trainer: Any, pl_module: Any, *args: Any, **kwargs: Any) -> None:
        self._stages.end("train_step")
        self._stages.begin("train_step", trainer.global_step + 1)

    def on_train_batch_end(self, trainer: Any, pl_module: Any, *args: Any, **kwargs: Any) -> None:
        self._stages.end("train_step")

    def on_train_epoch_end(self, trainer: Any, pl_module: Any) -> None:
        """A module's on_train_batch_start that returns -1 ends the epoch, without an end of the batch."""
        self._stages.end("train_step")

    def on_validation_start(self, trainer: Any, pl_module: Any) -> None:
        self._stages.begin("eval", trainer.global_step)

    def on_validation_end(self, trainer: Any, pl_module: Any) -> None:
        self._stages.end("eval")

    def on_test_start(self, trainer: Any, pl_module: Any) -> None:
        self._stages.begin("test", trainer.global_step)

    def on_test_end(self, trainer: Any, pl_module: Any) -> None:
        self._stages.end("test")

    def on_predict_start(self, trainer: Any, pl_module: Any) -> None:
        self._stages.begin("predict", trainer.global_step)

    def on_predict_end(self, trainer: Any, pl_module: Any) -> None:
        self._stages.end("predict")

    def on_exception(self, trainer: Any, pl_module: Any, exception: BaseException) -> None:
        self._stages.end_all()
