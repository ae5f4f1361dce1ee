/* SPDX-License-Identifier: MIT */
/*
 * Search. A query is text, found in ids (whole), names, functions and places of
 * spawn sites, reasons, and functions of stacks; "name:x", "fn:x", "site:x",
 * "reason:x", "stack:x", "id:x" look in one of them. A match is a row: the
 * first of a goroutine, or the one with the reason or stack.
 */

const MATCHES_MAX = 500000;

function parseQuery(text) {
	const m = /^\s*(id|g|name|fn|site|reason|stack)\s*:\s*(.*)$/i
	    .exec(text);
	const what = m ? m[1].toLowerCase() : "";
	const word = (m ? m[2] : text).trim().toLowerCase();
	return {word, looks: (kind) => word !== "" &&
	    (what === "" || what === kind || what === "g" && kind === "id")};
}

/* Which entries of the tables have the word in them. */
function matchTables(trace, query) {
	const has = (text) => text.toLowerCase().includes(query.word);
	const flags = (list, test) => Uint8Array.from(list, (item) =>
	    test(item) ? 1 : 0);
	const frames = flags(trace.frames, (frame) => query.looks("stack") &&
	    (has(frame.fn) || has(trace.where(frame))));
	return {
		sites: flags(trace.sites, (site) =>
		    query.looks("fn") && has(site.fn) ||
		    query.looks("site") && site.file &&
		    has(trace.where(site))),
		reasons: flags(trace.reasons, (reason) =>
		    query.looks("reason") && reason !== "" && has(reason)),
		stacks: flags(trace.stacks, (stack) =>
		    stack.some((frame) => frames[frame])),
		names: query.looks("name") ? matchNames(trace, has) : null,
		g: query.looks("id") ?
		    trace.find(query.word.replace(/^g/, "")) : -1,
	};
}

/* Names are in the table of all strings; each is decoded only once. */
function matchNames(trace, has) {
	const {g, strings} = trace;
	const known = new Int8Array(strings.length).fill(-1);
	const flags = new Uint8Array(g.n);
	for (let i = 0; i < g.n; i++) {
		const name = g.name[i];
		if (known[name] === -1)
			known[name] = name && has(strings.get(name)) ? 1 : 0;
		flags[i] = known[name] === 1 ? 1 : 0;
	}
	return flags;
}

/* Rows in order of time, and a flag for each goroutine. */
function search(trace, text) {
	const query = parseQuery(text);
	if (query.word === "")
		return null;
	const tables = matchTables(trace, query);
	const {rows, g} = trace;
	const flags = new Uint8Array(g.n);
	const found = [];
	for (let i = 0; i < g.n; i++) {
		flags[i] = i === tables.g || tables.sites[g.site[i]] ||
		    tables.names && tables.names[i] ? 1 : 0;
	}
	for (let i = 0; i < rows.n && found.length < MATCHES_MAX; i++) {
		const id = rows.g[i];
		if (id < 0)
			continue;
		if (flags[id] && g.first[id] === i ||
		    rows.state[i] === STATE.WAITING &&
		    tables.reasons[rows.reason[i]] ||
		    tables.stacks[rows.stack[i]])
			found.push(i);
	}
	return found.length ? matchLanes(trace, flags, found) :
	    {rows: found, lanes: lanesByP(trace, []), flags, at: -1};
}

/* What stands out on the lanes: goroutines that match, and the rows. */
function matchLanes(trace, flags, found) {
	const {rows} = trace;
	const over = [];
	const marked = new Set(found);
	for (let i = 0; i < rows.n; i++) {
		if (onP(rows, i) && rows.g[i] >= 0 &&
		    (flags[rows.g[i]] || marked.has(rows.next[i])))
			over.push(i);
	}
	return {rows: found, lanes: lanesByP(trace, over), flags, at: -1};
}

class Search {
	constructor(view, input, label, changed) {
		Object.assign(this, {view, input, label, changed});
		this.text = "";
		const later = debounce(160, () => this.run());
		input.addEventListener("input", later);
		input.addEventListener("keydown", (e) => {
			if (e.key === "Enter") {
				this.run();
				this.step(e.shiftKey ? -1 : 1);
			} else if (e.key === "Escape") {
				input.value = "";
				this.run();
				input.blur();
			} else {
				return;
			}
			e.preventDefault();
		});
	}

	run() {
		if (this.input.value === this.text)
			return;
		this.text = this.input.value;
		this.view.matches = search(this.view.trace, this.text);
		this.showCount();
		this.changed();
		this.view.change();
	}

	showCount() {
		const {matches} = this.view;
		const n = matches ? matches.rows.length : 0;
		this.label.textContent = !matches ? "" : !n ? "none" :
		    matches.at < 0 ? count(n) :
		    `${count(matches.at + 1)}/${count(n)}`;
	}

	/* The first from the middle of what is seen on, then one by one. */
	step(by) {
		const {matches, trace} = this.view;
		if (!matches || !matches.rows.length)
			return;
		const n = matches.rows.length;
		matches.at = matches.at < 0 ? this.nearest(by) :
		    (matches.at + by + n) % n;
		const row = matches.rows[matches.at];
		this.showCount();
		this.view.select(trace.rows.g[row], row);
		showRow(this.view, row);
	}

	nearest(by) {
		const {matches, trace, t0} = this.view;
		const i = matches.rows.findIndex((row) =>
		    trace.rows.t[row] >= t0);
		const n = matches.rows.length;
		return by > 0 ? Math.max(i, 0) : (i + n - 1 + (i < 0)) % n;
	}
}

/* Moves so that a row can be seen; zooms only if it is much too small. */
function showRow(view, row) {
	const {trace} = view;
	const t0 = trace.rows.t[row];
	const t1 = trace.rowEnd(row);
	const {t0: v0, t1: v1} = view.goal;
	const span = v1 - v0;
	if (t1 - t0 > span || t1 - t0 < span / 400)
		view.reveal(t0, t1 > t0 ? t1 : t0 + span / 40);
	else if (t0 < v0 + span * 0.05 || t1 > v1 - span * 0.05)
		view.setRange((t0 + t1 - span) / 2, (t0 + t1 + span) / 2, true);
	view.change();
}

/* A flag for each goroutine whose id, name or site matches, or null. */
function goroutineFlags(trace, text) {
	const query = parseQuery(text);
	if (query.word === "")
		return null;
	const tables = matchTables(trace, query);
	const {g} = trace;
	const flags = new Uint8Array(g.n);
	for (let i = 0; i < g.n; i++)
		flags[i] = i === tables.g || tables.sites[g.site[i]] ||
		    tables.names && tables.names[i] ? 1 : 0;
	return flags;
}
