"""Run inside gdb-multiarch with PORT, SHAPE, TOP and AT set: prints what tests/unit/data/aarch64/*.stack are made of."""
import gdb

LINE = 32
known = {}


def frames():
    """Those that are on the stack: (pc, stack pointer)."""
    frame, found = gdb.newest_frame(), []
    while frame is not None:
        if frame.type() in (gdb.NORMAL_FRAME, gdb.SIGTRAMP_FRAME):
            found.append((frame.pc(), int(frame.read_register("sp")) & (1 << 64) - 1, frame.type()))
        try:
            frame = frame.older()
        except gdb.error:
            break
    return found


def print_memory(start, length):
    """What is not zero, and was not printed before."""
    memory = gdb.selected_inferior().read_memory(start, length).tobytes()
    for offset in range(0, length, LINE):
        piece = memory[offset:offset + LINE]
        if piece != known.get(start + offset, bytes(len(piece))):
            print(f"memory {start + offset:x} {piece.hex()}")
            known[start + offset] = piece


def print_stop(name):
    gdb.execute("set backtrace past-main on")
    gdb.execute("set backtrace past-entry on")
    found = frames()
    sp = found[0][1] & ~31
    top = TOP or (max(frame[1] for frame in found) + 95) & ~31
    names = [f"x{n}" for n in range(31)] + ["sp", "pc"]
    print(f"moment {name}")
    print("regs", *[f"{int(gdb.parse_and_eval('$' + reg)) & (1 << 64) - 1:x}" for reg in names])
    print(f"stack {sp:x} {top - sp:x}")
    print_memory(sp, top - sp)
    for pc, _, kind in found:
        if kind == gdb.SIGTRAMP_FRAME:
            print_memory(pc, 8)
    for pc, _, kind in found:
        print(f"pc {pc:x}")


gdb.execute("set confirm off")
gdb.execute(f"target remote 127.0.0.1:{PORT}")
gdb.execute("handle SIGSEGV nostop noprint pass")
if SHAPE == "saving":
    gdb.execute("break *saving")
    gdb.execute("continue")
    for i in range(14):
        print_stop(f"{i} instructions into saving")
        gdb.execute("stepi")
else:
    gdb.execute(f"break {AT}")
    gdb.execute("continue")
    print_stop(f"at {AT}")
print("end")
