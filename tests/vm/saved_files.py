"""Holds what is told of files that tests/vm/cases/saver.c has saved to what that knows itself."""
import json

import profiled

CLOCK_NS = 2_000_000  # Unix time is told by one look at both clocks
CLASSES = {"saves": "checkpoint_write", "small": "tight_write", "elsewhere": "found_write"}


def within(row, line):
    """Times are in the order in which things were, and the rename when the program made it."""
    if line["renamed_from_ns"] and not line["renamed_from_ns"] - CLOCK_NS <= row["renamed_ns"] <= line["renamed_to_ns"] + CLOCK_NS:
        return False
    if line["folder_synced"] and row["folder_synced_ns"] < row["renamed_ns"]:
        return False
    if row["durable_before_name"] == "yes" and not line["file"].endswith("/synchronous") and not row["last_write_ns"] <= row["sync_end_ns"] <= row["renamed_ns"]:
        return False
    return bool(row["folder_synced_ns"]) == bool(line["folder_synced"])


def told_ranges(row, line):
    """The ranges are those that were written; of a mapping whole blocks. Each has been on the device, where all has."""
    ranges = [[each["offset"], each["length"]] for each in row["ranges"]]
    done = [each["first_done_ns"] and each["first_done_ns"] <= each["last_done_ns"] for each in row["ranges"]]
    return ranges == line["ranges"] and row["extents"] == len(ranges) and (all(done) or not line["synced"])


def check_file(case, name, line, rows):
    file = line["file"].rsplit("/", 1)[1]
    row = rows.get(line["file"])
    if not case.tap.check(row, f"{name}: {file}: there is a row of it", sorted(rows)):
        return
    say = [json.dumps(line), json.dumps(row)]
    case.tap.check((row["durable_before_name"], row["reason"] or "", row["synced"]) == (line["durable"], line["reason"], bool(line["synced"])),
                   f"{name}: {file}: durable before its name: {line['durable']} {line['reason']}", *say)
    counts = {"writes": "writes", "bytes": "written_bytes", "short": "short_writes", "failed": "failed_writes", "syncs": "syncs", "failed_syncs": "failed_syncs"}
    off = {key: (line[key], row[told]) for key, told in counts.items() if line[key] != row[told]}
    case.tap.check(not off and bool(line["error"]) == bool(row["error"]) and (line["failed_syncs"] or line["error"] == row["error"]),
                   f"{name}: {file}: its calls are counted, and which failed", off, *say)
    case.tap.check(told_ranges(row, line), f"{name}: {file}: the ranges are those that it wrote", *say)
    case.tap.check(within(row, line), f"{name}: {file}: what was when", *say)
    case.tap.check(row["class"] == CLASSES[line["file"].split("/")[-2 if "step" not in line["file"] else -3]], f"{name}: {file}: its class", *say)


def check_saved(case, name):
    """What guest.sh's record NAME of a saver has told of its files."""
    lines = profiled.json_lines(case.text(f"{name}.lines"))
    if not case.tap.check(case.text(f"{name}.code").strip() == "0" and lines, f"{name}: record and its command exit with 0", case.text(f"{name}.log")[-2000:]):
        return
    top = json.loads(case.text(f"{name}.top.json"))
    rows = {row["path"]: row for row in top["checkpoints"]}
    for line in lines:
        check_file(case, name, line, rows)
    saved = [row for row in top["checkpoints"] if row["path"] not in {line["file"] for line in lines}]
    case.tap.check(not saved, f"{name}: there are no other rows", *map(str, saved))
    direct = next((row for path, row in rows.items() if path.endswith("/direct")), {})
    case.tap.check(direct.get("completions") == 4 and direct.get("out_of_order") == 3, f"{name}: direct writes end in the order in which they were made", direct)
    counters = top["stamp"]["counters"]
    case.tap.check(not counters["file_events_lost"] and not counters["checkpoint_files_dropped"], f"{name}: no event is lost", counters)
    for cause in ("tag_files", "tag_files_order", "tag_files_xattr"):
        case.check_clean(top, cause)
