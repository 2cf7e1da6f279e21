"""Deep down through C and Python by turns, to a write."""
import functools
import os


def compare(depth, a, b):
    if depth:
        down(depth - 1)
    elif not os.environ.get("DONE"):
        os.environ["DONE"] = "1"
        os.write(1, b"!")
    return a - b


def down(depth):
    return sorted([2, 1], key=functools.cmp_to_key(functools.partial(compare, depth)))


down(80)
