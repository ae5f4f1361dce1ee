/* SPDX-License-Identifier: MIT */
/*
 * What is said of a span, a goroutine, a sample: in the tooltip and in the tab
 * "Details". `go` is what a link does: go(g, row).
 */

const STACK_SHOWN = 12;		/* frames in a tooltip */

/* Pairs of a name and text, or a node; those without a value are left out. */
function list(pairs) {
	const dl = el("dl");
	for (const [name, value] of pairs) {
		if (value !== null && value !== undefined && value !== "")
			dl.append(el("dt", null, name), el("dd", null, value));
	}
	return dl;
}

const swatch = (colour) => el("i", {className: "swatch",
	style: "background:" + colour});

function stackNode(trace, stack, max) {
	const frames = stack > 0 && trace.stacks[stack];
	if (!frames || !frames.length)
		return null;
	const node = el("ol", {className: "stack"});
	for (const i of frames.slice(0, max)) {
		const frame = trace.frames[i];
		if (frame)
			node.append(el("li", null, frame.fn + " ",
			    el("span", null, trace.where(frame))));
	}
	if (frames.length > max)
		node.append(el("li", null, el("span", null,
		    `and ${frames.length - max} more`)));
	return node;
}

function siteText(trace, g) {
	const site = trace.site(g);
	const where = trace.where(site);
	return !site ? "unknown" : where ? `${site.fn}, ${where}` : site.fn;
}

/* A goroutine as a link; without `go` as text. */
function goroutineLink(trace, g, go, row) {
	if (g < 0)
		return "a thread of the runtime";
	const text = `g${trace.id(g)} ${shorten(trace.label(g), 40)}`;
	return go ? el("a", {className: "jump", href: "#", onclick: (e) => {
		e.preventDefault();
		go(g, row === undefined ? -1 : row);
	}}, text) : text;
}

/* By what a goroutine became runnable. */
function causeOf(trace, row, go) {
	const {rows} = trace;
	const cause = rows.cause[row];
	if (cause === CAUSE.UNBLOCK || cause === CAUSE.CREATE ||
	    cause === CAUSE.CREATE_WAITING)
		return goroutineLink(trace, rows.by[row], go,
		    wakerRow(trace, row));
	return CAUSE_NAMES[cause];
}

/* The span of the waker in which it woke, or -1. */
function wakerRow(trace, row) {
	const {rows} = trace;
	return rows.by[row] < 0 ? -1 : trace.rowAt(rows.by[row], rows.t[row]);
}

/* The row by which the goroutine became runnable before row i, or -1. */
function readyRow(trace, row) {
	const {rows} = trace;
	const at = rows.state[row] === STATE.RUNNABLE ? row : rows.prev[row];
	return at >= 0 && rows.state[at] === STATE.RUNNABLE ? at : -1;
}

function placeText(trace, row) {
	const {rows} = trace;
	const parts = [];
	if (rows.p[row] >= 0)
		parts.push("P" + rows.p[row]);
	if (rows.m[row] > 0)
		parts.push(trace.thread(rows.m[row]));
	return parts.join(", ");
}

/* Why the state that a row began is over. */
function endText(trace, row) {
	const {rows} = trace;
	const next = rows.next[row];
	if (next < 0)
		return rows.state[row] === STATE.DEAD ? "" :
		    "the trace ends here";
	return rows.state[next] === STATE.WAITING ?
	    "blocked: " + trace.reason(next) : END_NAMES[rows.cause[next]];
}

function rowPairs(trace, row, go) {
	const {rows} = trace;
	const state = rows.state[row];
	const latency = trace.latency(row);
	const ready = readyRow(trace, row);
	const next = rows.next[row];
	const wokenBy = state === STATE.WAITING && next >= 0 &&
	    rows.cause[next] === CAUSE.UNBLOCK ? causeOf(trace, next, go) : "";
	return [
		["state", el("span", null, swatch(colours.state(state,
		    rows.reason[row])), trace.stateText(row))],
		["at", duration(trace.rowStart(row)) +
		    (onThread(rows, row) ? ", " + placeText(trace, row) : "")],
		["for", duration(trace.rowLength(row))],
		["waits on", state === STATE.WAITING && rows.object[row] ?
		    el("span", {className: "mono"},
		    wordHex(trace.objects, rows.object[row])) : ""],
		["woken by", wokenBy],
		["runnable by", ready >= 0 ? causeOf(trace, ready, go) : ""],
		["waited for a P", latency >= 0 ? duration(latency) : ""],
		["then", endText(trace, row)],
	];
}

/* Where it was when the span ended, which is where it blocked. */
function rowStack(trace, row) {
	const {rows} = trace;
	const next = rows.next[row];
	return rows.stack[row] || (next >= 0 && onThread(rows, row) ?
	    rows.stack[next] : 0);
}

function headline(trace, g) {
	return el("div", {className: "headline"},
	    swatch(colours.site(trace.g.site[g])),
	    `g${trace.id(g)} ${trace.label(g)}`);
}

/* ---- the tooltip */

function tipOf(trace, hit) {
	const {item} = hit;
	switch (hit.kind) {
	case "row":
		return [headline(trace, hit.g), list([
			["spawned", siteText(trace, hit.g)],
			...rowPairs(trace, hit.row)]),
			stackNode(trace, rowStack(trace, hit.row),
			    STACK_SHOWN)];
	case "sample":
		return [el("div", {className: "headline"}, "CPU sample"),
			list([["at", duration(item.t)],
			["goroutine", goroutineLink(trace, item.g)],
			["thread", trace.thread(item.m)]]),
			stackNode(trace, item.stack, STACK_SHOWN)];
	case "mark":
		return [el("div", {className: "headline"},
		    `P${item.p}: ${MARKS[item.kind] || "event"}`),
			list([["at", duration(item.t)],
			["thread", trace.thread(item.m)],
			["", markText(item)]])];
	case "log":
		return [el("div", {className: "headline"},
		    shorten(trace.strings.get(item.text), 300)),
			list([["at", duration(item.t)],
			["goroutine", goroutineLink(trace, item.g)],
			["task", taskName(trace, item.task)]])];
	case "world":
		return [el("div", {className: "headline"},
		    "The world is stopped"),
			list([["at", duration(item.t)],
			["for", duration(item.end - item.t)],
			["by", item.g < 0 ? "" : goroutineLink(trace,
			    item.g)]])];
	}
	return [el("div", {className: "headline"},
	    shorten(trace.strings.get(item.name), 300)),
		list([["kind", hit.kind], ["at", duration(item.t)],
		["for", item.length < 0 ? "not ended" : duration(item.length)],
		["goroutine", goroutineLink(trace, item.g)],
		["task", taskName(trace, item.task)]])];
}

function markText(item) {
	switch (item.kind) {
	case 1:
		return ["its goroutine is in a call",
			"its goroutine blocked in the kernel",
			"its goroutine computed too long"][item.a] || "";
	case 2:
		return `${item.a >>> 16} of P${item.a & 0xffff}`;
	case 3:
		return `${count(item.a)} timers`;
	case 4:
		return `${count(item.a)} goroutines became ready`;
	case 5:
		return `${count(item.a)} Ps`;
	}
	return "";
}

function taskName(trace, task) {
	const found = task >= 0 && trace.tasks[task];
	return found ? trace.strings.get(found.name) : "";
}

/* ---- the tab */

/* Time of a goroutine by state, waiting by reason. */
function timesOf(trace, g) {
	const {rows} = trace;
	const times = new Map();
	for (let i = trace.g.first[g]; i >= 0; i = rows.next[i]) {
		const state = rows.state[i];
		if (state === STATE.DEAD || state === STATE.NONE)
			continue;
		const key = stateCode(state, rows.reason[i]);
		const entry = times.get(key) || {state,
			name: trace.stateText(i), ns: 0,
			colour: colours.state(state, rows.reason[i])};
		entry.ns += trace.rowLength(i);
		times.set(key, entry);
	}
	return [...times.values()].sort((a, b) => b.ns - a.ns);
}

function timesNode(times) {
	const total = times.reduce((sum, entry) => sum + entry.ns, 0) || 1;
	const bar = el("div", {className: "bar"});
	const legend = el("div", {className: "legend"});
	for (const {name, colour, ns} of times) {
		bar.append(el("i", {style: `width:${100 * ns / total}%;` +
		    `background:${colour}`}));
		legend.append(el("span", null, swatch(colour), name),
		    el("span", null, duration(ns)),
		    el("span", {className: "muted"}, percent(ns / total)));
	}
	return el("div", null, bar, legend);
}

function goroutinePairs(trace, g, go) {
	const {rows} = trace;
	const first = trace.g.first[g];
	const last = trace.g.last[g];
	const born = first >= 0 && (rows.cause[first] === CAUSE.CREATE ||
	    rows.cause[first] === CAUSE.CREATE_WAITING);
	const ended = last >= 0 && rows.state[last] === STATE.DEAD;
	const end = ended ? rows.t[last] : trace.end;
	return [
		["name", trace.name(g)],
		["spawned", siteText(trace, g)],
		["by", born ? causeOf(trace, first, go) : "before the trace"],
		["from", first < 0 ? "" : duration(rows.t[first])],
		["to", ended ? duration(end) : "the end of the trace"],
		["lives", first < 0 ? "" : duration(end - rows.t[first])],
		["runs", count(trace.g.slices[g]) + " times"],
		["longest latency", duration(trace.g.maxLatency[g])],
	];
}

/* Goroutines that were woken or spawned during a span, as links. */
function wokenNode(view, row, go) {
	const {trace} = view;
	const wakes = wakesOf(view, row).filter(
	    (i) => trace.rows.by[i] === trace.rows.g[row]);
	if (!wakes.length || !onThread(trace.rows, row))
		return "";
	const node = el("span");
	wakes.slice(0, 6).forEach((i, k) => {
		const start = trace.startAfter(i);
		node.append(k ? ", " : "", goroutineLink(trace, trace.rows.g[i],
		    go, start >= 0 ? start : i));
	});
	if (wakes.length > 6)
		node.append(`, and ${count(wakes.length - 6)} more`);
	return node;
}

function detailsNode(view, go) {
	const {trace, selected} = view;
	if (!selected)
		return el("p", {className: "pad muted"},
		    "Click a goroutine on the timeline or in a table.");
	const {g, row} = selected;
	const shown = row >= 0 ? row : trace.g.first[g];
	const step = (to, text) => el("button", {disabled: to < 0,
		onclick: () => go(g, to)}, text);
	const span = shown >= 0 && el("div", null,
	    el("h2", null, row >= 0 ? "This span" : "Its first span"),
	    list([...rowPairs(trace, shown, go),
		["woke", wokenNode(view, shown, go)]]),
	    el("div", {className: "chips", style: "margin-top:8px"},
		step(trace.rows.prev[shown], "‹ Before"),
		step(trace.rows.next[shown], "After ›"),
		el("button", {onclick: () => view.reveal(trace.rows.t[shown],
		    trace.rowEnd(shown))}, "Zoom")));
	const stack = shown >= 0 &&
	    stackNode(trace, rowStack(trace, shown), 64);
	return el("div", {className: "pad"}, headline(trace, g),
	    el("div", {className: "columns"},
		el("div", null, el("h2", null, "Goroutine"),
		    list(goroutinePairs(trace, g, go))),
		el("div", null, el("h2", null, "Where its time went"),
		    timesNode(timesOf(trace, g))),
		span || null,
		stack ? el("div", null, el("h2", null, "Stack"), stack) :
		    null));
}
