"""Runs inside gdb, attached to a process: prints, as one line of JSON after "CONTEXTS ", what each thread's slots
lead to, decoded as OTEP 4947 says. Nothing here comes from stalltag's own headers."""
import json

import gdb

ERROR = gdb.error


def decode(pointer):
    if not pointer:
        return None
    memory = gdb.selected_inferior()
    head = bytes(memory.read_memory(pointer, 28))
    size = int.from_bytes(head[26:28], "little")
    data = bytes(memory.read_memory(pointer + 28, size)) if size else b""
    attributes = {}
    while len(data) >= 2 and len(data) >= 2 + data[1]:
        attributes[data[0]] = data[2:2 + data[1]].decode("utf-8")
        data = data[2 + data[1]:]
    return {"trace_id": head[0:16].hex(), "span_id": head[16:24].hex(), "valid": head[24], "flags": head[25],
            "size": size, "rest": len(data), "attributes": attributes, "aligned": pointer % 2 == 0}


def slot(name):
    try:
        return decode(int(gdb.parse_and_eval(f"(unsigned long){name}")))
    except ERROR as error:
        return {"error": str(error)}


contexts = {}
for thread in gdb.selected_inferior().threads():
    thread.switch()
    contexts[thread.ptid[1]] = {"otel": slot("otel_thread_ctx_v1"), "own": slot("stalltag_thread_ctx_v1")}
print("CONTEXTS " + json.dumps(contexts))
