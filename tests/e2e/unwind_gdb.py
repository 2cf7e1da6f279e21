"""Run inside gdb: every frame of the current thread, innermost first, as unwind_live prints them."""
import gdb

gdb.execute("set backtrace past-main on")
gdb.execute("set backtrace past-entry on")
gdb.execute("set print max-depth 0")
frame = gdb.newest_frame()
while frame is not None and frame.is_valid():
    # Frames that gdb makes up from call sites: a tail call leaves nothing on the stack.
    if frame.type() == gdb.TAILCALL_FRAME:
        frame = frame.older()
        continue
    sal = frame.find_sal()
    path = sal.symtab.fullname() if sal.symtab else "??"
    name = frame.name() or ("<signal>" if frame.type() == gdb.SIGTRAMP_FRAME else "??")
    kind = "inlined" if frame.type() == gdb.INLINE_FRAME else "real"
    print(f"FRAME\t{name}\t{path}\t{sal.line if sal.symtab else 0}\t{kind}")
    try:
        frame = frame.older()
    except gdb.error as error:
        print(f"ERROR\t{error}")
        break
