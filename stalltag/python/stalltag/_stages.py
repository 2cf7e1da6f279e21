"""The tags that a trainer's callback holds: its hooks say that a stage begins and that it ends, in different calls."""
import threading
from typing import Any, List

import stalltag


class Stages(threading.local):
    """Stages of the calling thread, innermost last. An end that never came (an exception, a hook that this version does not
    call) costs no balance: what is still open is popped with the stage around it, or by end_all()."""

    def __init__(self) -> None:
        self.open: List[str] = []

    def __reduce__(self) -> Any:
        """A copy in another process has nothing open."""
        return Stages, ()

    def begin(self, name: str, id: int) -> None:
        stalltag.push(name, max(0, int(id)))
        self.open.append(name)

    def end(self, name: str) -> None:
        """Of the innermost stage of that name, and of those within it. Nothing when there is none."""
        if name in self.open:
            last = ""
            while last != name:
                last = self.open.pop()
                stalltag.pop()

    def end_all(self) -> None:
        while self.open:
            self.open.pop()
            stalltag.pop()
