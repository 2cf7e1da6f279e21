"""TAP for the end-to-end tests: one object that counts, prints and ends the program."""
import sys


class Tap:
    def __init__(self):
        self.count = self.failed = 0

    def check(self, passed, name, *details):
        """One line; the details are printed as comments when it failed. Returns `passed`."""
        self.count += 1
        self.failed += not passed
        print(f"{'ok' if passed else 'not ok'} {self.count} - {name}")
        if not passed:
            for detail in details:
                for line in str(detail).splitlines():
                    print(f"# {line}")
        sys.stdout.flush()
        return passed

    def note(self, *lines):
        for line in lines:
            print(f"# {line}")
        sys.stdout.flush()

    def skip(self, name, why):
        self.count += 1
        print(f"ok {self.count} - {name} # SKIP {why}")

    def end(self):
        print(f"1..{self.count}")
        sys.exit(1 if self.failed else 0)
