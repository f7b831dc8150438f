"""Reads what ghz and the server measured of one run; used by run.sh and soak.sh.

Usage: python3 measure.py scrape HOST:PORT                     the server's metrics, to standard output
       python3 measure.py loads                                ghz's data for LoadPlaybook, from menus on standard input
       python3 measure.py run NAME GHZ_JSON [FLAG...]          one run as text, or as JSON with --json
       python3 measure.py document KEY=VALUE... RUN_JSON...    all runs as one JSON document
       python3 measure.py sample FLAG...                       edits skills and watches a process; CSV to standard output
       python3 measure.py verdict CSV                          the table of a soak, and what is wrong
"""

import argparse
import csv
import datetime
import http.client
import json
import math
import os
import pathlib
import re
import statistics
import sys
import time

SAMPLE = re.compile(r"^(\w+)(?:\{(.*)\})? (\S+)$", re.M)
LABEL = re.compile(r'(\w+)="([^"]*)"')
HANDLING, HANDLED, STAGE = "grpc_server_handling_seconds_bucket", "grpc_server_handled_total", "maitred_stage_seconds_bucket"
COLUMNS = ["seconds", "rss_kib", "fds", "threads", "backlog", "revision", "edits"]


def scrape(address):
    host, _, port = address.rpartition(":")
    connection = http.client.HTTPConnection(host.strip("[]"), int(port), timeout=5)
    try:
        connection.request("GET", "/metrics", headers={"Connection": "close"})
        answer = connection.getresponse()
        if answer.status != 200:
            sys.exit(f"measure.py: http://{address}/metrics answered {answer.status}: is it the server's --http?")
        return answer.read().decode()
    except OSError as error:
        sys.exit(f"measure.py: http://{address}/metrics: {error}: is it the server's --http, and does it run?")
    finally:
        connection.close()


def samples(text):
    """Name and labels to value."""
    return {
        (name, frozenset(LABEL.findall(labels))): float(value) for name, labels, value in SAMPLE.findall(text)
    }


def difference(before, after, metric, **labels):
    """How much each series of a metric grew, by the labels that were not asked for."""
    wanted, grown = set(labels.items()), {}
    for (name, has), value in after.items():
        if name == metric and wanted <= has:
            grown[frozenset(has - wanted)] = value - before.get((name, has), 0.0)
    return grown


def bounds(buckets, quantile):
    """The bucket in which a quantile lies: its bounds in seconds."""
    ordered = sorted((float(dict(labels)["le"]), count) for labels, count in buckets.items())
    rank, low = math.ceil(quantile * ordered[-1][1]), 0.0
    for high, count in ordered:
        if count >= rank:
            return [low, high if math.isfinite(high) else None]
        low = high
    raise AssertionError("the last bucket holds everything")


def server_side(before, after, method):
    codes = {
        dict(labels)["grpc_code"]: int(count)
        for labels, count in difference(before, after, HANDLED, grpc_method=method).items()
        if count
    }
    side = {"codes": codes}
    handling = difference(before, after, HANDLING, grpc_method=method, grpc_service="maitred.v1.MenuService")
    if sum(codes.values()):
        side["handling_seconds"] = {f"p{percent}": bounds(handling, percent / 100) for percent in (50, 95, 99)}
    stages = {}
    for labels, count in difference(before, after, STAGE).items():
        label = dict(labels)
        stages.setdefault(label.pop("stage"), {})[frozenset(label.items())] = count
    stages = {stage: buckets for stage, buckets in stages.items() if max(buckets.values()) > 0}
    side["stage_seconds"] = {
        stage: {"p50": bounds(buckets, 0.5), "p99": bounds(buckets, 0.99)} for stage, buckets in stages.items()
    }
    return side


def quantile(ordered, share):
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)]


def client_side(report, cold):
    """ghz's details, all of them counted, and timed but for the first ones, which opened the connections."""
    details = report["details"] or []
    timed = sorted(call["latency"] / 1e9 for call in details[cold:] if call["status"] == "OK")
    side = {
        "calls": report["count"],
        "seconds": report["total"] / 1e9,
        "per_second": report["count"] / (report["total"] / 1e9),
        "codes": report["statusCodeDistribution"],
        "errors": report["errorDistribution"],
        "timed": len(timed),
    }
    if timed:
        side["average"] = sum(timed) / len(timed)
        side |= {f"p{percent}": quantile(timed, percent / 100) for percent in (50, 95, 99)}
        side["slowest"] = timed[-1]
    return side


def faults(run):
    """Sentences about what makes a run worthless."""
    client = run["client"]
    if client["calls"] != run["planned"]:
        yield f"ended after {client['calls']} of {run['planned']} calls, its time was up: send fewer, or look at the server"
    failed = client["calls"] - client["codes"].get("OK", 0)
    if failed > run["errors_allowed"] * client["calls"]:
        first = max(client["errors"], key=client["errors"].get, default="no message")
        yield f"{failed} of {client['calls']} calls failed, most often with: {first}"
    if run["rate"] and client["per_second"] < 0.9 * run["rate"]:
        yield (
            f"{client['per_second']:.0f} calls a second were made where {run['rate']} were asked for: the generator did "
            "not keep up; lower --rps"
        )


def span(pair, unit, scale):
    low, high = pair
    return f"over {low * scale:g} {unit}" if high is None else f"{low * scale:g}-{high * scale:g} {unit}"


def text(run):
    client, server = run["client"], run["server"]
    yield run["name"]
    codes = ", ".join(f"{code} {count:,}" for code, count in sorted(client["codes"].items()))
    line = f"  ghz     {client['calls']:,} calls, {client['per_second']:,.0f}/s, {codes}"
    if client["timed"]:
        line += "; average {average:.2f}, p50 {p50:.2f}, p95 {p95:.2f}, p99 {p99:.2f}, slowest {slowest:.2f} ms".format(
            **{key: client[key] * 1e3 for key in ("average", "p50", "p95", "p99", "slowest")}
        )
    yield line
    if server is None:
        return
    codes = ", ".join(f"{code} {count:,}" for code, count in sorted(server["codes"].items())) or "none"
    line = f"  server  {codes}"
    if handling := server.get("handling_seconds"):
        line += "; " + ", ".join(f"{name} {span(pair, 'µs', 1e6)}" for name, pair in handling.items())
    yield line
    if server["stage_seconds"]:
        stages = ", ".join(
            f"{stage} {'/'.join('more' if pair[1] is None else format(pair[1] * 1e6, 'g') for pair in of.values())}"
            for stage, of in server["stage_seconds"].items()
        )
        yield f"  stages  p50/p99 at most, µs: {stages}"


def run(arguments):
    parser = argparse.ArgumentParser(prog="measure.py run")
    parser.add_argument("name")
    parser.add_argument("report", type=pathlib.Path)
    parser.add_argument("--method", default="SelectMenu")
    parser.add_argument("--planned", type=int, required=True)
    parser.add_argument("--cold", type=int, default=0)
    parser.add_argument("--rate", type=int, default=0)
    parser.add_argument("--errors-allowed", type=float, default=0.0)
    parser.add_argument("--before", type=pathlib.Path)
    parser.add_argument("--http")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args(arguments)
    report = json.loads(given.report.read_text(encoding="utf-8"))
    server = None
    if given.http:
        # the last call is counted a moment after its answer has left
        time.sleep(0.1)
        before, after = given.before.read_text(encoding="utf-8"), scrape(given.http)
        server = server_side(samples(before), samples(after), given.method)
    options = report["options"]
    outcome = {
        "name": given.name,
        "method": given.method,
        "concurrency": options["concurrency"],
        "connections": options["connections"],
        "rate": given.rate,
        "planned": given.planned,
        "errors_allowed": given.errors_allowed,
        "client": client_side(report, given.cold),
        "server": server,
    }
    print(json.dumps(outcome) if given.json else "\n".join(text(outcome)))
    found = list(faults(outcome))
    if found:
        sys.exit("\n".join(f"{given.name}: {fault}" for fault in found))


def document(arguments):
    facts = dict(argument.split("=", 1) for argument in arguments if "=" in argument)
    runs = [json.loads(pathlib.Path(argument).read_text()) for argument in arguments if "=" not in argument]
    date = datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds")
    print(json.dumps({"date": date, "processors": os.cpu_count(), **facts, "runs": runs}, indent=2))


def loads():
    """A load of each playbook on each menu; the menus are JSON objects, one after the other."""
    decoder, rest, calls = json.JSONDecoder(), sys.stdin.read().strip(), []
    while rest:
        menu, end = decoder.raw_decode(rest)
        calls += [{"menu_token": menu["menu_token"], "slug": item["slug"]} for item in menu["items"]]
        rest = rest[end:].strip()
    print(json.dumps(calls))


def edit(skill, spare, number):
    """A new last line, written beside the directory and moved into place: no half file is ever read."""
    body = skill.read_text(encoding="utf-8")
    body = re.sub(r"\nEdited \d+ times\.\n\Z", "\n", body) + f"\nEdited {number} times.\n"
    spare.write_text(body, encoding="utf-8")
    spare.replace(skill)


def sample(arguments):
    parser = argparse.ArgumentParser(prog="measure.py sample")
    parser.add_argument("--pid", type=int, required=True)
    parser.add_argument("--http", required=True)
    parser.add_argument("--skills", type=pathlib.Path, required=True)
    parser.add_argument("--seconds", type=int, required=True)
    given = parser.parse_args(arguments)
    skills, process = sorted(given.skills.rglob("SKILL.md")), pathlib.Path("/proc", str(given.pid))
    spare = given.skills.parent / "edited"
    rows, begun = csv.writer(sys.stdout), time.monotonic()
    rows.writerow(COLUMNS)
    for second in range(given.seconds):
        edit(skills[second % len(skills)], spare, second + 1)
        time.sleep(max(0.0, begun + second + 1 - time.monotonic()))
        try:
            status = dict(re.findall(r"^(VmRSS|Threads):\s+(\d+)", (process / "status").read_text(), re.M))
            fds = len(os.listdir(process / "fd"))
        except FileNotFoundError:
            sys.exit(f"measure.py: the server ended after {second + 1} seconds")
        gauges = samples(scrape(given.http))
        gauge = [int(gauges[name, frozenset()]) for name in ("maitred_reaper_backlog", "maitred_revision")]
        seconds = round(time.monotonic() - begun, 2)
        rows.writerow([seconds, status["VmRSS"], fds, status["Threads"], *gauge, second + 1])
        sys.stdout.flush()


def slope(rows):
    """KiB a minute, by least squares."""
    return statistics.linear_regression([row["seconds"] / 60 for row in rows], [row["rss_kib"] for row in rows]).slope


def verdict(arguments):
    with open(arguments[0], encoding="utf-8") as file:
        rows = [{name: float(value) for name, value in row.items()} for row in csv.DictReader(file)]
    count = len(rows)
    length = min(60, count // 3)
    middle = (count - length) // 2
    parts = {
        f"first {length} s": rows[:length],
        f"middle {length} s": rows[middle : middle + length],
        f"last {length} s": rows[-length:],
    }
    print(f"{'min / median / max':20}" + "".join(f"{name:>28}" for name in parts))
    for column in ("rss_kib", "fds", "threads", "backlog", "revision"):
        cells = []
        for part in parts.values():
            values = [row[column] for row in part]
            cells.append(" / ".join(f"{value:,.0f}" for value in (min(values), statistics.median(values), max(values))))
        print(f"{column:20}" + "".join(f"{cell:>28}" for cell in cells))

    def median(column, quarter):
        return statistics.median(row[column] for row in rows[quarter * count // 4 : (quarter + 1) * count // 4])

    published, edits = rows[-1]["revision"] - rows[0]["revision"], rows[-1]["edits"] - rows[0]["edits"]
    rss, fds = (median(column, 3) - median(column, 1) for column in ("rss_kib", "fds"))
    share = rss / median("rss_kib", 1)
    print(f"{edits:.0f} edits, {published:.0f} revisions published")
    print(
        f"rss: {slope(rows[count // 2 :]):+,.0f} KiB/min over the second half, last quarter {share:+.1%} against the "
        f"second; fds: {fds:+.0f}"
    )
    found = []
    if published < edits / 2:
        found.append("fewer than half of the edits were published: the soak did not test what it is for")
    if share > 0.10:
        found.append(f"memory grew by {share:.1%} from the second quarter to the last, 10% is allowed: look for a leak")
    # one connection for the metrics may be open or not
    if fds > 1:
        found.append(f"open file descriptors grew by {fds:.0f} from the second quarter to the last: look for a leak")
    if found:
        sys.exit("\n".join(found))


def main():
    command, arguments = (sys.argv[1] if len(sys.argv) > 1 else ""), sys.argv[2:]
    match command:
        case "scrape":
            sys.stdout.write(scrape(arguments[0]))
        case "loads":
            loads()
        case "run":
            run(arguments)
        case "document":
            document(arguments)
        case "sample":
            sample(arguments)
        case "verdict":
            verdict(arguments)
        case _:
            sys.exit(__doc__)


if __name__ == "__main__":
    main()
