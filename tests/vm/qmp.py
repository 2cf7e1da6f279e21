"""A connection to QEMU's machine protocol: one command, one answer."""
import json
import socket
import time


class Qmp:
    """Connects to QEMU's socket at `path`, which it makes when it starts."""

    def __init__(self, path, seconds=10):
        until = time.monotonic() + seconds
        while True:
            self.socket = socket.socket(socket.AF_UNIX)
            try:
                self.socket.connect(path)
                break
            except OSError:
                self.socket.close()
                if time.monotonic() > until:
                    raise
                time.sleep(0.05)
        self.file = self.socket.makefile("rw")
        self.file.readline()  # its greeting
        self.ask({"execute": "qmp_capabilities"})

    def ask(self, command):
        """The answer to a command: {"return": ...} or {"error": ...}. Events that come before it are left out."""
        self.file.write(json.dumps(command) + "\n")
        self.file.flush()
        for line in self.file:
            answer = json.loads(line)
            if "event" not in answer:
                return answer
        return {"error": {"desc": "QEMU has gone"}}

    def close(self):
        self.file.close()
        self.socket.close()
