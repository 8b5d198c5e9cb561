"""The grid of parallel loops: the rows par_SIZE_TOKENS, and how they show.

With P workers a loop takes TP, the plain loop Ts, both of the same run. The
rows are the efficiency, Ts / (P x TP), in percent; with one worker that is
100 / (T1/Ts), and the table shows T1/Ts.
"""

import os
import shutil

SIZES = (100, 1000, 10000)
TOKENS = tuple(10 ** power for power in range(6))
UNIT = "percent"
HEAD = "size x tokens"
ABOUT = (
    "Loops of independent items, each of so many tokens of work: T1/Ts is the "
    "time of one worker to that of the plain loop in the same language, 2 "
    "workers the efficiency, Ts / (2 x T2); Ts/item is that of the first "
    "program. A plain loop and a parallel one ran in turn in each run.")


def id_of(size, tokens):
    return "par_%d_%d" % (size, tokens)


IDS = {id_of(size, tokens): (size, tokens)
       for size in SIZES for tokens in TOKENS}

# What a run prints besides, and JSON keeps.
TIMES = ("ts_ns", "tp_ns")


def add_percent(sample, workers):
    sample["percent"] = \
        100 * sample["ts_ns"] / (workers * sample["tp_ns"])


def bars(id_):
    """(must, bold) a count of workers: at least so many percent."""
    size, tokens = IDS[id_]
    out = {}
    # Ten tokens are 10 ns and more where nothing else overlaps them; a plain
    # loop of such items overlaps some, so that it is an aim only.
    if tokens == 10:
        out[1] = (None, 100 / 1.05)
    elif tokens >= 100:
        out[1] = (100 / 1.01, None)
    if (size, tokens) in ((1000, 10000), (10000, 1000)):
        out[2] = (95, None)
    return out


# ---- table ----------------------------------------------------------------


def of(row, impl, ours):
    return row["ours"] if impl == ours else row["peers"].get(impl)


def cells(kept):
    """{(id, workers): row} of the grid's rows."""
    return {(r["id"], r["workers"]): r for r in kept if r["id"] in IDS}


def show(value, text):
    return "-" if not value else text % value


def table(kept, impls, ours, verdict):
    """The grid as lists of text, the head first; [] if nothing is there."""
    rows = cells(kept)
    able = [i for i in impls if any(of(r, i, ours) for r in rows.values())]
    if not able:
        return []
    head = [HEAD, "Ts/item ns"]
    for impl in able:
        name = impl.split()[0]
        head += [name + " T1/Ts", "2 workers"]
        head += ["meets"] if impl == ours else []
    out = [head]
    for id_, (size, tokens) in IDS.items():
        pair = [rows.get((id_, workers)) for workers in (1, 2)]
        some = [r for r in pair if r]
        if not some:
            continue
        # Of the first program, that is, ours if it is there.
        times = [r["times"][able[0]]["ts_ns"] for r in some
                 if able[0] in r["times"]]
        line = ["%d x %d" % (size, tokens),
                show(times and times[0] / size, "%.3g")]
        for impl in able:
            one, two = (r and of(r, impl, ours) for r in pair)
            line += [show(one and 100 / one, "%.3f"), show(two, "%.1f%%")]
            if impl == ours:
                said = [verdict(r) for r in some if r["bar"]]
                line.append("/".join(said) or "-")
        out.append(line)
    return out


# ---- plot -----------------------------------------------------------------

WIDTH, HEIGHT = 860, 620


def panel(rows, impls, ours, size, workers, quoted, colours):
    """gnuplot's commands for one size and count of workers."""
    text, plots = [], []
    for i, impl in enumerate(impls):
        points = []
        for tokens in TOKENS:
            row = rows.get((id_of(size, tokens), workers))
            value = row and of(row, impl, ours)
            if value:
                points.append("%d %.4g" % (tokens, value))
        if points:
            text += ["$s%d << EOD" % i] + points + ["EOD"]
            plots.append('$s%d with linespoints lc rgb "%s" pt %d ps %s '
                         "lw %s title %s" % (
                             i, colours[i % len(colours)],
                             7 if impl == ours else 6,
                             "0.6" if impl == ours else "0.5",
                             "2" if impl == ours else "1",
                             quoted(impl.split()[0])))
    if not plots:
        return []
    return text + [
        "set title " + quoted("%d items, %s" % (
            size, "one worker" if workers == 1 else "two workers")),
        "plot " + ", \\\n  ".join(plots)]


def plot(path, kept, impls, ours, style):
    """Write the plot; style: gnuplot(script), quoted(text), COLOURS of it.
    True if it was written."""
    rows = cells(kept)
    able = [i for i in impls if any(of(r, i, ours) for r in rows.values())]
    panels = [panel(rows, able, ours, size, workers, style.quoted,
                    style.COLOURS) for workers in (1, 2) for size in SIZES]
    if not any(panels) or not shutil.which("gnuplot"):
        return False
    os.makedirs(os.path.dirname(path), exist_ok=True)
    script = [
        'set terminal svg size %d,%d font "sans,11" background "white" '
        "noenhanced" % (WIDTH, HEIGHT),
        "set output " + style.quoted(path), "set logscale x",
        "set grid x y lc rgb '#dddddd'", 'set format x "%g"',
        "set xrange [%g:%g]" % (TOKENS[0] / 2, TOKENS[-1] * 2),
        "set xtics rotate by 45 right", "unset mxtics",
        "set yrange [0:105]", 'set format y "%g%%"',
        "set xlabel 'tokens an item'",
        "set multiplot layout 2,3 title 'efficiency: Ts / (P x TP)'"]
    key = "set key bottom right"
    for commands in panels:
        if commands:
            script += [key] + commands
            key = "set key off"
        else:
            script.append("set multiplot next")
    return style.gnuplot(script + ["unset multiplot"])
