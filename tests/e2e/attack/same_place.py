"""same_place.py LIBRARY SECONDS: calls functions of a library in turn, at one line, from two functions of the same size, and prints how long
it waited in each of them, by its own clock, as JSON. In ms they wait 10, 15 and 20; a thread idles beside it, and threads that come after
each other, on the same stack, wait twice each."""
import ctypes
import json
import select
import sys
import threading
import time

library, end = ctypes.CDLL(sys.argv[1]), time.monotonic() + float(sys.argv[2])
waits = [(name, getattr(library, name), us) for name, us in (("wait_alpha", 10000), ("wait_beta", 15000), ("wait_gamma", 20000))]
waited = {}


def idle():
    poller = select.poll()
    while time.monotonic() < end:
        poller.poll(20)


def one(name, function, us):
    began = time.monotonic_ns()
    function(us)
    waited[name] = waited.get(name, 0) + time.monotonic_ns() - began


def callee_one(wait):
    began = time.monotonic_ns()
    one(*wait)
    waited["callee_one"] = waited.get("callee_one", 0) + time.monotonic_ns() - began


def callee_two(wait):
    began = time.monotonic_ns()
    one(*wait)
    waited["callee_two"] = waited.get("callee_two", 0) + time.monotonic_ns() - began


def brief():
    began = time.monotonic_ns()
    time.sleep(0.015)
    time.sleep(0.012)
    waited["brief"] = waited.get("brief", 0) + time.monotonic_ns() - began


threading.Thread(target=idle).start()
while time.monotonic() < end:
    for wait in waits:
        for callee in (callee_one, callee_two):
            callee(wait)
    thread = threading.Thread(target=brief)
    thread.start()
    thread.join()
print(json.dumps(waited))
