/* SPDX-License-Identifier: MIT */
/* The tabs below the timeline. Each is made when it is first shown. */

/* The rank of each text among all, as a key for sorting. */
function ranks(texts) {
	const order = texts.map((_, i) => i).sort((a, b) =>
	    texts[a] < texts[b] ? -1 : texts[a] > texts[b] ? 1 : 0);
	const rank = new Float64Array(texts.length);
	order.forEach((i, k) => rank[i] = k);
	return rank;
}

function page(tools, table) {
	return el("div", {className: "grid"}, tools, table.node);
}

const chip = (text, pressed, onclick) => el("button", {onclick,
	"aria-pressed": String(pressed)}, text);

/* ---- summary */

function summaryNode(view, tracks, show) {
	const {trace} = view;
	const {meta, g, rows} = trace;
	const busy = tracks.procs.reduce((sum, lane) =>
	    sum + lane.sum[lane.n], 0);
	const total = g.time.map((times) => times.reduce((a, b) => a + b, 0));
	const facts = list([
		["program", meta.program],
		["process", meta.pid ? String(meta.pid) : ""],
		["recorded", meta.wall ? new Date(meta.wall / 1e6)
		    .toISOString().replace("T", " ").replace("Z", " UTC") : ""],
		["length", duration(trace.end)],
		["events", count(meta.events || rows.n)],
		["goroutines", count(g.n)],
		["Ps, threads", `${trace.procs}, ${Math.max(0,
		    trace.threads - 1)}`],
		["busy Ps", percent(busy / trace.end /
		    Math.max(1, trace.procs)) + " of the time"],
		["stopped world", trace.world.length ?
		    `${count(trace.world.length)} times, ` + duration(
		    trace.world.reduce((sum, w) => sum + w.end - w.t, 0)) : ""],
		["CPU samples", trace.samples.length ?
		    count(trace.samples.length) : ""],
		["lost events", meta.lost ? count(meta.lost) : ""],
	]);
	return el("div", {className: "pad columns"},
	    el("div", null, el("h2", null, "Trace"), facts),
	    el("div", null, el("h2", null, "Goroutines' time"),
		timesNode(summedTimes(total))),
	    el("div", null, el("h2", null, "Spawn sites"),
		siteLegend(trace, show)),
	    el("div", null, el("h2", null, "Scheduling latency"),
		figures(trace.histogram)));
}

function summedTimes(total) {
	return [STATE.RUNNING, STATE.RUNNABLE, STATE.CALL, STATE.DETACHED,
		STATE.PAUSED, STATE.WAITING].filter((state) => total[state] > 0)
	    .map((state) => ({state, name: STATE_NAMES[state],
		colour: colours.state(state), ns: total[state]}));
}

function siteLegend(trace, show) {
	const node = el("div");
	const groups = trace.groups.filter((group) => group.n)
	    .sort((a, b) => b.time[STATE.RUNNING] - a.time[STATE.RUNNING]);
	for (const group of groups.slice(0, 8)) {
		const site = trace.sites[group.site];
		node.append(el("div", null, el("a", {className: "jump",
			href: "#", onclick: (e) => {
				e.preventDefault();
				show.site(group.site);
			}}, swatch(colours.site(group.site)),
		    shorten(site.fn || "unknown", 40)),
		    el("span", {className: "muted"},
			`  ${count(group.n)}, ` +
			duration(group.time[STATE.RUNNING]))));
	}
	return node;
}

function figures(histogram) {
	const figure = (name, value) => el("div", null, el("b", null, value),
	    el("span", {className: "muted"}, name));
	if (!histogram.n)
		return el("p", {className: "muted"}, "none");
	return el("div", {className: "figures"},
	    figure("median", duration(histogram.quantile(0.5))),
	    figure("99 %", duration(histogram.quantile(0.99))),
	    figure("99.9 %", duration(histogram.quantile(0.999))),
	    figure("longest", duration(histogram.max)),
	    figure("starts", count(histogram.n)));
}

/* ---- goroutines */

function goroutineColumns(trace, tab) {
	const {g, rows, strings} = trace;
	const siteTexts = trace.sites.map((site) => site.fn + " " +
	    trace.where(site));
	const siteRank = ranks(siteTexts);
	const some = (ns) => ns > 0 ? duration(ns) : "";
	const time = (state) => (i) => some(g.time[state][i]);
	const num = (title, width, key, text) => ({title, width, num: true,
		key, text});
	const idKey = Float64Array.from(g.ids.lo, (lo, i) =>
	    lo + 4294967296 * g.ids.hi[i]);
	const start = Float64Array.from(g.first, (i) => i < 0 ? -1 : rows.t[i]);
	return [
		{title: "Goroutine", width: 118, key: idKey, num: true,
			text: (i) => trace.id(i)},
		{title: "Name", width: 150, key: (i) => g.name[i],
			text: (i) => strings.get(g.name[i])},
		{title: "Spawned", width: 230, key: (i) => siteRank[g.site[i]],
			node: (i) => [swatch(colours.site(g.site[i])),
			    siteTexts[g.site[i]] || "unknown"]},
		num("Start", 90, start, (i) => duration(start[i])),
		num("Running", 90, g.time[STATE.RUNNING], time(STATE.RUNNING)),
		num("Runnable", 90, g.time[STATE.RUNNABLE],
		    time(STATE.RUNNABLE)),
		num("Latency", 90, g.maxLatency,
		    (i) => some(g.maxLatency[i])),
		num("Waiting", 130, (i) => tab.waiting(i),
		    (i) => some(tab.waiting(i))),
		num("In calls", 90, g.time[STATE.CALL], time(STATE.CALL)),
		num("Detached", 90, g.time[STATE.DETACHED],
		    time(STATE.DETACHED)),
		num("Starts", 80, (i) => g.slices[i],
		    (i) => count(g.slices[i])),
	];
}

class GoroutineTab {
	constructor(view, go) {
		this.view = view;
		this.trace = view.trace;
		this.site = -1;
		this.reason = -1;
		this.table = new Table(goroutineColumns(this.trace, this), {
			click: (i) => go(i, -1),
			chosen: (i) => view.selected && view.selected.g === i});
		this.table.sort = {column: 4, down: true};
		this.input = el("input", {type: "search",
			placeholder: "Filter by id, name, function, site"});
		this.input.addEventListener("input",
		    debounce(160, () => this.filter()));
		this.clear = el("button", {hidden: true,
			onclick: () => this.setSite(-1)});
		this.total = el("span", {className: "muted"});
		this.node = page(el("div", {className: "tools"}, this.input,
		    this.reasonMenu(), this.clear, this.total), this.table);
		this.filter();
	}

	/* Waiting for any reason, or for one. */
	reasonMenu() {
		const used = new Set();
		const {rows} = this.trace;
		for (let i = 0; i < rows.n; i++) {
			if (rows.state[i] === STATE.WAITING)
				used.add(rows.reason[i]);
		}
		const menu = el("select", {"aria-label": "Waiting for",
			onchange: () => this.setReason(Number(menu.value))},
		    el("option", {value: "-1"}, "Waiting: all reasons"));
		for (const reason of used)
			menu.append(el("option", {value: String(reason)},
			    "Waiting: " + (this.trace.reasons[reason] ||
			    "unknown")));
		return menu;
	}

	waiting(i) {
		return this.reason < 0 ? this.trace.g.time[STATE.WAITING][i] :
		    this.times[i];
	}

	setReason(reason) {
		const {rows, g} = this.trace;
		this.reason = reason;
		this.times = new Float64Array(g.n);
		for (let i = 0; i < rows.n && reason >= 0; i++) {
			if (rows.state[i] === STATE.WAITING && rows.g[i] >= 0 &&
			    rows.reason[i] === reason)
				this.times[rows.g[i]] +=
				    this.trace.rowLength(i);
		}
		const column = this.table.columns[7];
		column.title = reason < 0 ? "Waiting" :
		    this.trace.reasons[reason] || "Waiting";
		this.table.sortOn(7, true);
	}

	setSite(site) {
		this.site = site;
		this.clear.hidden = site < 0;
		if (site >= 0)
			this.clear.textContent = "× " + shorten(
			    this.trace.sites[site].fn || "unknown", 30);
		this.filter();
	}

	filter() {
		const {g} = this.trace;
		const flags = goroutineFlags(this.trace, this.input.value);
		const {site} = this;
		this.table.setItems(flags || site >= 0 ? numbers(g.n, (i) =>
		    (!flags || flags[i]) && (site < 0 || g.site[i] === site)) :
		    numbers(g.n));
		this.total.textContent =
		    `${count(this.table.items.length)} of ${count(g.n)}`;
	}

	refresh() {
		this.table.draw();
	}
}

/* ---- sites */

function siteTab(view, show) {
	const {trace} = view;
	const {groups, sites} = trace;
	const num = (title, key, text) => ({title, width: 104, num: true, key,
		text: (i) => key(i) > 0 ? (text || duration)(key(i)) : ""});
	const time = (title, state) => num(title, (i) => groups[i].time[state]);
	const fnRank = ranks(sites.map((site) => site.fn));
	const whereRank = ranks(sites.map((site) => trace.where(site)));
	const table = new Table([
		{title: "Function", width: 220, key: (i) => fnRank[i],
			node: (i) => [swatch(colours.site(i)),
			    sites[i].fn || "unknown"]},
		{title: "Spawned at", width: 160, key: (i) => whereRank[i],
			text: (i) => trace.where(sites[i])},
		num("Goroutines", (i) => groups[i].n, count),
		time("Running", STATE.RUNNING),
		num("… each", (i) => groups[i].time[STATE.RUNNING] /
		    groups[i].n),
		time("Runnable", STATE.RUNNABLE),
		num("Latency, most", (i) => groups[i].maxLatency),
		time("Waiting", STATE.WAITING),
		time("In calls", STATE.CALL),
		time("Detached", STATE.DETACHED),
	], {click: (i) => show.site(i)});
	table.sort = {column: 3, down: true};
	table.setItems(numbers(sites.length, (i) => groups[i].n > 0));
	return {table, node: page(el("div", {className: "tools muted"},
	    "Goroutines by where they were spawned; a click lists them."),
	    table), refresh: () => table.draw()};
}

/* ---- stalls */

const STALL_KINDS = [
	["Runnable", STATE.RUNNABLE, "ready, and no P ran it"],
	["Paused", STATE.PAUSED, "its thread slept in the signal handler"],
	["In a call", STATE.CALL, "in a blocking call"],
	["Detached", STATE.DETACHED, "ran without a P"],
	["Waiting", STATE.WAITING, "blocked, by reason"],
	["Running", STATE.RUNNING, "kept its P without a break"],
];

class StallTab {
	constructor(view, go) {
		this.view = view;
		this.trace = view.trace;
		this.go = go;
		this.rows = [];
		this.tools = el("div", {className: "tools"});
		this.table = new Table(this.columns(), {
			click: (i) => this.jump(this.rows[i]),
			chosen: (i) => view.selected &&
			    view.selected.row === this.rows[i]});
		this.node = page(this.tools, this.table);
		this.choose(STALL_KINDS.find(([, state]) =>
		    this.trace.longest[state].length) || STALL_KINDS[0]);
	}

	columns() {
		const {trace} = this;
		const {rows} = trace;
		const row = (i) => this.rows[i];
		const by = (i) => {
			const r = row(i);
			const at = rows.state[r] === STATE.RUNNABLE ? r :
			    rows.next[r];
			return at < 0 ? "" : causeOf(trace, at);
		};
		return [
			{title: "Length", width: 110, num: true,
				key: (i) => trace.rowLength(row(i)),
				text: (i) => duration(trace.rowLength(row(i)))},
			{title: "At", width: 110, num: true,
				key: (i) => trace.rowStart(row(i)),
				text: (i) => duration(trace.rowStart(row(i)))},
			{title: "State", width: 170, key: (i) => rows.reason[
				row(i)], node: (i) => [swatch(colours.state(
				rows.state[row(i)], rows.reason[row(i)])),
				trace.stateText(row(i))]},
			{title: "Goroutine", width: 210, key: (i) => rows.g[
				row(i)], text: (i) => goroutineLink(trace,
				rows.g[row(i)])},
			{title: "Spawned", width: 210, key: (i) =>
				trace.g.site[rows.g[row(i)]],
				text: (i) => siteText(trace, rows.g[row(i)])},
			{title: "Runnable by", width: 200, key: (i) => rows.by[
				row(i)], text: by},
			{title: "Then", width: 220, key: (i) => i,
				text: (i) => endText(trace, row(i))},
		];
	}

	choose(kind) {
		const [, state, text] = kind;
		this.kind = kind;
		this.tools.replaceChildren(...STALL_KINDS.filter(([, s]) =>
		    this.trace.longest[s].length).map((k) => chip(k[0],
		    k === kind, () => this.choose(k))),
		    el("span", {className: "muted"}, text));
		this.rows = this.trace.longest[state].sorted();
		this.table.sort = {column: 0, down: true};
		this.table.setItems(numbers(this.rows.length));
	}

	jump(row) {
		this.go(this.trace.rows.g[row], row, true);
	}

	refresh() {
		this.table.draw();
	}
}

/* ---- what the program said */

class UserTab {
	constructor(view, go) {
		this.view = view;
		this.trace = view.trace;
		this.go = go;
		this.tools = el("div", {className: "tools"});
		this.node = el("div", {className: "grid"}, this.tools);
		const lists = {Tasks: this.trace.tasks, Log: this.trace.logs,
			Regions: this.trace.regions};
		this.kinds = Object.entries(lists);
		this.choose((this.kinds.find(([, items]) => items.length) ||
		    this.kinds[0])[0]);
	}

	choose(kind) {
		const {trace, view} = this;
		const items = this.kinds.find(([name]) => name === kind)[1];
		const text = (item) => trace.strings.get(kind === "Log" ?
		    item.text : item.name);
		const parent = (item) => kind === "Tasks" ? item.parent :
		    item.task;
		const table = new Table([
			{title: "At", width: 110, num: true, key: (i) =>
				items[i].t, text: (i) => duration(items[i].t)},
			...kind === "Log" ? [] : [{title: "Length", width: 110,
				num: true, key: (i) => items[i].length,
				text: (i) => items[i].length < 0 ? "not ended" :
				    duration(items[i].length)}],
			{title: kind === "Log" ? "Message" : "Name", width: 340,
				key: (i) => i, text: (i) => text(items[i])},
			{title: "Goroutine", width: 220, key: (i) => items[i].g,
				text: (i) => goroutineLink(trace, items[i].g)},
			{title: kind === "Tasks" ? "Parent" : "Task",
				width: 200, key: (i) => parent(items[i]),
				text: (i) => taskName(trace,
				    parent(items[i]))},
		], {click: (i) => this.jump(items[i])});
		table.sort = {column: 0, down: false};
		table.setItems(numbers(items.length));
		this.table = table;
		this.tools.replaceChildren(...this.kinds.map(([name, list]) =>
		    chip(`${name} ${count(list.length)}`, name === kind,
		    () => this.choose(name))));
		this.node.replaceChildren(this.tools, table.node);
		view.change();
	}

	jump(item) {
		const {view, trace} = this;
		const length = item.length === undefined ? 0 : item.length < 0 ?
		    trace.end - item.t : item.length;
		if (item.g >= 0)
			view.select(item.g, trace.rowAt(item.g, item.t));
		if (length > 0)
			view.reveal(item.t, item.t + length);
		else
			view.reveal(item.t - (view.t1 - view.t0) / 20,
			    item.t + (view.t1 - view.t0) / 20);
	}

	refresh() {
		this.table.draw();
	}
}
