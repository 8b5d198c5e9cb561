"""How bench/run shows what it measured: a table, JSON, Markdown, plots."""

import json
import os
import shutil
import subprocess
import sys
import textwrap

import grid
import rows as known

# Plots of all figures, and of the grid; by these names in build/.
ALL, GRID = "all.svg", "par.svg"
HEIGHT_A_ROW, HEIGHT_REST, WIDTH = 17, 110, 860
COLOURS = ("#c1121f", "#0077b6", "#6c757d", "#2a9d8f", "#e9a000", "#7b2cbf",
           "#8d5524", "#ff70a6", "#000000")


def meets(value, bar, unit):
    """Which of (must, bold) a figure meets; None where there is no bar."""
    sign = -1 if unit in known.HIGHER else 1
    return {name: None if limit is None else sign * value <= sign * limit
            for name, limit in zip(("must", "bold"), bar)}


def as_json(row, ours):
    """A row as it is kept in bench.json."""
    medians = row["medians"]
    mine = medians.get(ours)
    peers = {i: m for i, m in medians.items() if i != ours}
    bar = known.BARS.get(row["id"], {}).get(row["workers"])
    kept = {
        "id": row["id"], "workers": row["workers"], "unit": row["unit"],
        "ours": mine, "spread": row["spread"].get(ours), "peers": peers,
        "ratios": {i: m / mine if row["unit"] in known.HIGHER else mine / m
                   for i, m in peers.items() if m and mine is not None},
        "bar": bar and dict(zip(("must", "bold"), bar)),
        "meets": meets(mine, bar, row["unit"])
        if bar and mine is not None else None,
        "runs": row["runs"],
    }
    kept.update((k, row[k]) for k in ("worst", "times") if k in row)
    return kept


def figure(value):
    if value is None:
        return "-"
    if value == 0:
        return "0"
    if value < 0.1:
        return "%.2g" % value
    if value < 10:
        return "%.2f" % value
    return "%.1f" % value if value < 100 else "{:,.0f}".format(value)


def ratio(value):
    if value is None:
        return "-"
    return "%.2f" % value if value >= 0.1 else "%.1g" % value


def verdict(row):
    """What the row says about its bar, in a word."""
    m = row["meets"]
    if not m:
        return "-"
    if m["bold"]:
        return "bold"
    return "missed" if m["must"] is False else \
        "must" if m["must"] else "-"


def tables(kept, impls, ours):
    """Tables, each of rows that are lists of text, the head first: most rows,
    those of the parallel operators, which have peers of their own, and the
    grid of these."""
    loops = [r for r in kept if r["id"].startswith("par_")]
    rest = [r for r in kept if r not in loops]
    loops = [r for r in loops if r["id"] not in grid.IDS]
    found = [table(rest, impls, ours), table(loops, impls, ours),
             grid.table(kept, impls, ours, verdict)]
    return [lines for lines in found if len(lines) > 1]


def table(kept, impls, ours):
    peers = [i for i in impls if i != ours and
             any(i in row["peers"] for row in kept)]
    head = ["bench", "workers", "unit", ours, "spread", "must", "bold",
            "meets"]
    for peer in peers:
        head += [peer, "ratio"]
    out = [head]
    for row in kept:
        bar = row["bar"] or {}
        line = [row["id"], str(row["workers"]), row["unit"],
                figure(row["ours"]),
                "-" if row["spread"] is None else
                "%.0f%%" % (100 * row["spread"]),
                figure(bar.get("must")), figure(bar.get("bold")),
                verdict(row)]
        for peer in peers:
            line += [figure(row["peers"].get(peer)),
                     ratio(row["ratios"].get(peer))]
        out.append(line)
    return out


def print_table(lines):
    widths = [max(len(line[i]) for line in lines)
              for i in range(len(lines[0]))]
    for line in lines:
        print("  ".join(cell.ljust(w) if i == 0 else cell.rjust(w)
                        for i, (cell, w) in enumerate(zip(line, widths))))


def write_json(path, kept, about):
    with open(path, "w") as f:
        head = json.dumps(about, indent=1)[:-2]
        f.write(head + ',\n "rows": [\n  ' + ",\n  ".join(
            json.dumps(row) for row in kept) + "\n ]\n}\n")


def filled(text):
    return textwrap.fill(text, 80, break_long_words=False,
                         break_on_hyphens=False)


def write_docs(path, found, about, images):
    """docs/benchmarks.md; images: files beside it."""
    text = ["# Benchmarks", "",
            filled("Written by `%s`; what each line measures: "
                   "[bench/README.md](../bench/README.md)." %
                   about["command"]), "",
            filled("Medians; a ratio is ours / peer, below 1 is better for "
                   "us; spread is (largest - smallest run) / median of ours. "
                   "Must and bold are the limits set for this machine. All "
                   "programs of a line ran in turn, on as many CPUs as "
                   "workers."), ""]
    text += ["- " + line for line in about["machine"]]
    text += ["- " + about["date"], ""]
    for image in images:
        text += ["![ours and the peers](%s)" % image, ""]
    for lines in found:
        if lines[0][0] == grid.HEAD:
            text += [filled(grid.ABOUT), ""]
        text.append("| " + " | ".join(lines[0]) + " |")
        text.append("|---" + "|---:" * (len(lines[0]) - 1) + "|")
        text += ["| " + " | ".join(line) + " |" for line in lines[1:]]
        text.append("")
    text.pop()
    with open(path, "w") as f:
        f.write("\n".join(text) + "\n")


# ---- plots ----------------------------------------------------------------


def quoted(text):
    """A string of gnuplot's; its labels are plain text (noenhanced)."""
    return "'" + text.replace("'", "''") + "'"


def points(kept, value):
    """A data block: place and figure of each row that has one."""
    found = [(i, value(row)) for i, row in enumerate(kept)]
    # A logarithm has no place for 0.
    return ["%d %.6g" % (i, v) for i, v in found if v is not None and v > 0]


def panel(title, unit, kept, impls, ours):
    """gnuplot's commands for one panel: a line a row, a mark a program."""
    def of(impl):
        return lambda row: row["ours"] if impl == ours else \
            row["peers"].get(impl)

    series = [("must", points(kept, lambda r: (r["bar"] or {}).get("must")),
               'lc rgb "#999999" pt 2 ps 0.7')]
    for i, impl in enumerate(impls):
        series.append((impl, points(kept, of(impl)),
                       'lc rgb "%s" pt %d ps %s' % (
                           COLOURS[i % len(COLOURS)],
                           7 if impl == ours else 6 if i % 2 else 4,
                           "0.9" if impl == ours else "0.7")))
    series = [s for s in series if s[1]]
    text, plots = [], []
    for i, (name, data, style) in enumerate(series):
        text += ["$s%d << EOD" % i] + data + ["EOD"]
        plots.append("$s%d using 2:1 with points %s title %s" % (
            i, style, quoted(name)))
    tics = ", ".join("%s %d" % (quoted(row["id"]), i)
                     for i, row in enumerate(kept))
    text += ["set title " + quoted(title), "set xlabel " + quoted(unit),
             "set ytics (%s)" % tics,
             "set yrange [%g:-0.5]" % (len(kept) - 0.5),
             "plot " + ", \\\n  ".join(plots)]
    return text if plots else []


def chosen(kept, unit, workers=None):
    return [r for r in kept if r["unit"] == unit and
            workers in (None, r["workers"]) and
            (r["ours"] is not None or r["peers"])]


def gnuplot(script):
    """Run it; True if it could."""
    done = subprocess.run(["gnuplot"], input="\n".join(script) + "\n",
                          text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT)
    if done.returncode:
        print("gnuplot: " + done.stdout.strip())
    return done.returncode == 0


def draw(path, panels):
    """panels: (commands, rows in it). True if it could."""
    total = sum(HEIGHT_A_ROW * n + HEIGHT_REST for _, n in panels)
    script = [
        'set terminal svg size %d,%d font "sans,11" background "white" '
        'noenhanced' % (WIDTH, total),
        "set output " + quoted(path), "set logscale x",
        "set grid x y lc rgb '#dddddd'", "set key outside right top",
        'set format x "%g"', "set lmargin 18", "set multiplot"]
    top = 1.0
    for commands, n in panels:
        height = (HEIGHT_A_ROW * n + HEIGHT_REST) / total
        top -= height
        script += ["set size 1,%.5f" % height, "set origin 0,%.5f" % top]
        script += commands
    return gnuplot(script + ["unset multiplot"])


def plots(folder, kept, impls, ours):
    """Write the plots; returns the paths, or [] and says why. ALL and GRID
    are those for docs."""
    if not shutil.which("gnuplot"):
        print("plots: no gnuplot here, left out (dev/setup --bench)")
        return []
    os.makedirs(folder, exist_ok=True)
    parts = [("ns1", "one worker", "ns an operation", chosen(kept, "ns", 1)),
             ("ns2", "two workers", "ns an operation", chosen(kept, "ns", 2)),
             ("ms", "milliseconds, one worker", "ms", chosen(kept, "ms", 1)),
             ("bytes", "memory, one worker", "bytes a task",
              chosen(kept, "bytes", 1))]
    paths, every = [], []
    for name, title, unit, some in parts:
        commands = panel(title, unit, some, impls, ours) if some else []
        if not commands:
            continue
        every.append((commands, len(some)))
        path = os.path.join(folder, name + ".svg")
        if draw(path, [every[-1]]):
            paths.append(path)
    path = os.path.join(folder, ALL)
    if every and draw(path, every):
        paths.append(path)
    path = os.path.join(folder, GRID)
    if grid.plot(path, kept, impls, ours, sys.modules[__name__]):
        paths.append(path)
    return paths
