"""What torch_tags.py and trainer_tags.py share: a spy on the tags that are pushed, and what is said of a check."""
import sys

import stalltag


class Spied:
    """What is pushed and popped within the block."""

    def __enter__(self):
        self.popping = sys.modules.get("stalltag._ranges", stalltag)  # which calls the library's, once that is imported
        self.said, self.functions = [], (stalltag._push, self.popping._pop)
        push, pop = self.functions

        def spied_push(id, name, length):
            text = name.decode()
            self.said.append((text, id.value) if id.value else text)
            push(id, name, length)

        def spied_pop():
            self.said.append("pop")
            pop()

        stalltag._push, self.popping._pop = spied_push, spied_pop
        return self.said

    def __exit__(self, *_):
        stalltag._push, self.popping._pop = self.functions


def say(what, seen, wanted):
    print(f"{what}: yes" if seen == wanted else f"{what}: NO ({seen!r}, wanted {wanted!r})", flush=True)
