#!/usr/bin/python3
"""train_torch.py [FOLDER [STEPS]]: a small PyTorch training loop (CPU) with two loader workers and checkpoints, tagged by
stalltag. The workers read samples from files that are not in the page cache, so that the loop waits for them now and then.

Debian's python3-torch serves: apt-get install python3-torch
"""
import os
import sys
import tempfile

import stalltag
import torch
from torch.utils.data import DataLoader, Dataset

FEATURES, SAMPLES_A_FILE, FILES, BATCH, CHECKPOINT_EVERY = 512, 64, 32, 16, 10


class Samples(Dataset):
    """Samples in files of the folder, each of which is read anew."""

    def __init__(self, folder):
        self.paths = [os.path.join(folder, f"samples{i}.pt") for i in range(FILES)]
        for path in self.paths:
            torch.save(torch.randn(SAMPLES_A_FILE, FEATURES), path)
            with open(path, "rb") as file:
                os.fsync(file.fileno())

    def __len__(self):
        return FILES * SAMPLES_A_FILE

    def __getitem__(self, index):
        path = self.paths[index // SAMPLES_A_FILE]
        with open(path, "rb") as file:
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
            sample = torch.load(file)[index % SAMPLES_A_FILE]
        return sample, sample.sum() > 0


def make_model():
    return torch.nn.Sequential(torch.nn.Linear(FEATURES, 1024), torch.nn.ReLU(), torch.nn.Linear(1024, 1024),
                               torch.nn.ReLU(), torch.nn.Linear(1024, 2))


def train_step(model, optimizer, sample, label):
    optimizer.zero_grad()
    torch.nn.functional.cross_entropy(model(sample), label.long()).backward()
    optimizer.step()


def write_checkpoint(model, optimizer, path):
    with open(path, "wb") as file:
        torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict()}, file)
        file.flush()
        os.fsync(file.fileno())


def begin_worker(_):
    """A worker is forked under the loop's data_load, and would keep that tag."""
    stalltag.push("loader")


def train(folder, steps):
    model = make_model()
    optimizer = torch.optim.Adam(model.parameters())
    batches = iter(())
    loader = DataLoader(Samples(folder), batch_size=BATCH, shuffle=True, num_workers=2, worker_init_fn=begin_worker)
    for step in range(1, steps + 1):
        with stalltag.tag("data_load", id=step):
            batch = next(batches, None)
            if batch is None:
                batches = iter(loader)
                batch = next(batches)
        with stalltag.tag("train_step", id=step):
            train_step(model, optimizer, *batch)
        if step % CHECKPOINT_EVERY == 0:
            with stalltag.tag(f"checkpoint_write/run1/step{step}", id=step):
                write_checkpoint(model, optimizer, os.path.join(folder, "checkpoint.pt"))


def main():
    steps = int(sys.argv[2]) if len(sys.argv) > 2 else 100
    torch.set_num_threads(1)
    if len(sys.argv) > 1:
        os.makedirs(sys.argv[1], exist_ok=True)
        return train(sys.argv[1], steps)
    with tempfile.TemporaryDirectory(dir="/var/tmp") as folder:
        return train(folder, steps)


if __name__ == "__main__":
    main()
