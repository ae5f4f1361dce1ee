/* SPDX-License-Identifier: MIT */
/* Reads the trace, and connects the parts of the page. */

let colours;			/* of the trace: see colour.js */

const KEYS = [
	["Move", [["W, S, + , −", "zoom in, out"],
		["A, D, ←, →", "move left, right"],
		["↑, ↓, Page", "scroll the lanes"],
		["0, Home", "the whole trace"],
		["F", "zoom to the selection"],
		["wheel", "zoom at the pointer; Shift: move"],
		["drag", "move; on the ruler or with Shift: zoom to a range"],
		["two fingers", "zoom and move"]]],
	["Find", [["/", "search"], ["N, P", "next, previous match"],
		["click", "select a goroutine"],
		["double click", "zoom to a span"],
		["J, K", "next, previous span of the selected goroutine"],
		["U", "go to what woke it"], ["O", "go to what it woke"],
		["Esc", "select nothing"]]],
	["Show", [["1 … 7", "tabs"], ["M", "threads"], ["L", "without a P"],
		["R", "arrows"], ["T", "light or dark"], ["?", "this"]]],
];

const TOGGLES = [["threads", "Threads", "m"], ["detached", "Without P", "l"],
	["user", "Tasks", ""], ["arrows", "Arrows", "r"]];

class Page {
	constructor(trace) {
		const view = this.view = new View(trace);
		this.trace = trace;
		colours = new Colours(trace);
		this.tracks = new Tracks(trace, view);
		this.painter = new Painter($("lanes"), view, this.tracks,
		    colours);
		this.minimap = new Minimap($("minimap"), view, this.tracks,
		    colours);
		this.go = this.go.bind(this);
		this.search = new Search(view, $("search"), $("found"),
		    () => this.minimap.refresh());
		this.input = new Input($("lanes"), view, this.tracks, {
			hover: (hit, e) => this.hover(hit, e),
			click: (hit, e) => this.click(hit, e),
			key: (name, e) => this.key(name, e)});
		view.on("frame", () => this.frame());
		view.on("select", () => this.selectionChanged());
		view.on("range", debounce(250, () => this.rangeChanged()));
		this.makeTabs();
		this.makeHead();
		this.makeSplitter();
		this.readHash();
		new ResizeObserver(() => this.resize()).observe($("timeline"));
		window.addEventListener("hashchange", () => this.readHash());
		matchMedia("(prefers-color-scheme: dark)")
		    .addEventListener("change", () => this.recolour());
		this.resize();
	}

	resize() {
		this.painter.resize();
		this.minimap.resize();
		this.frame();
	}

	frame() {
		const began = performance.now();
		this.painter.draw();
		this.drawRange();
		this.minimap.draw();
		const {view} = this;
		const hidden = this.tracks.height + RULER - view.height;
		const bar = $("scrollbar").firstChild;
		const high = $("scrollbar").clientHeight;
		bar.style.display = hidden > 1 ? "" : "none";
		bar.style.height = high * view.height /
		    (view.height + Math.max(0, hidden)) + "px";
		bar.style.top = high * view.scroll /
		    (view.height + Math.max(0, hidden)) + "px";
		$("range").textContent = duration(view.t1 - view.t0);
		this.drawMs = performance.now() - began;
	}

	/* The range that is being dragged. */
	drawRange() {
		const {range} = this.input;
		if (!range)
			return;
		const {context: c, view} = this.painter;
		const x = view.x(range[0]);
		const width = view.x(range[1]) - x;
		c.fillStyle = colours.names.accent;
		c.globalAlpha = 0.2;
		c.fillRect(x, 0, width, view.height);
		c.globalAlpha = 1;
		c.font = colours.font("600 12px");
		c.fillText(duration(range[1] - range[0]), x + 6, RULER + 12);
	}

	/* ---- pointing and selecting */

	hover(hit, e) {
		const {view} = this;
		const tip = $("tip");
		this.input.pointedX = e ? e.offsetX : undefined;
		const was = view.hover;
		const same = hit && was && hit.kind === was.kind &&
		    hit.row === was.row && hit.t0 === was.t0;
		if (!same) {
			view.hover = hit;
			view.change();
			tip.hidden = !hit;
			if (hit)
				tip.replaceChildren(...tipOf(this.trace, hit)
				    .filter(Boolean));
		}
		if (hit && e)
			placeTip(tip, e.clientX, e.clientY);
	}

	click(hit, e) {
		$("timeline").focus({preventScroll: true});
		if (hit && hit.kind === "row") {
			this.view.select(hit.g, hit.row);
			this.showTab("Details");
		} else if (hit && hit.item && hit.item.g >= 0) {
			this.view.select(hit.item.g,
			    this.trace.rowAt(hit.item.g, hit.t0));
			this.showTab("Details");
		} else {
			this.view.select(-1);
		}
		if (e.pointerType === "touch")
			this.hover(null, null);
	}

	/* Selects, and moves to where it can be seen. */
	go(g, row, zoom) {
		const {view, trace} = this;
		view.select(g, row);
		const at = row >= 0 ? row : trace.g.first[g];
		if (at < 0)
			return;
		if (zoom)
			view.reveal(trace.rowStart(at), trace.rowEnd(at));
		else if (row >= 0)
			showRow(view, row);
		else
			this.showGoroutine(g);
	}

	/* All of a goroutine, if it is not seen yet. */
	showGoroutine(g) {
		const {view, trace} = this;
		const t0 = trace.rows.t[trace.g.first[g]];
		const t1 = trace.rowEnd(trace.g.last[g]);
		if (t1 < view.t0 || t0 > view.t1 ||
		    t1 - t0 < (view.t1 - view.t0) / 50)
			view.reveal(t0, t1);
	}

	selectionChanged() {
		this.view.scroll = this.view.selected ? 0 : this.view.scroll;
		this.refreshTab();
		this.saveHash();
	}

	rangeChanged() {
		const name = this.tab;
		if (name === "Latency" || name === "CPU")
			this.refreshTab();
		this.saveHash();
	}

	/* ---- the head */

	makeHead() {
		const {view, trace} = this;
		$("program").textContent = trace.meta.program || "";
		document.title = "weft trace " + (trace.meta.program || "");
		$("prev").onclick = () => this.search.step(-1);
		$("next").onclick = () => this.search.step(1);
		$("fit").onclick = () => view.fit();
		$("theme").onclick = () => this.toggleTheme();
		$("help").onclick = () => this.help();
		this.makeToggles();
		const said = trace.meta.warning || "";
		$("warning").hidden = !said;
		$("warning").textContent = said;
	}

	makeToggles() {
		const {view, trace} = this;
		const useful = {threads: trace.threads > 1,
			detached: trace.detached, user: trace.tasks.length +
			    trace.logs.length > 0, arrows: true};
		$("toggles").replaceChildren(...TOGGLES.filter(([name]) =>
		    useful[name]).map(([name, text]) =>
		    chip(text, view.show[name], () => this.toggle(name))));
	}

	toggle(name) {
		const {show} = this.view;
		show[name] = !show[name];
		this.makeToggles();
		this.view.change();
	}

	toggleTheme() {
		document.documentElement.dataset.theme = isDark() ? "light" :
		    "dark";
		this.recolour();
	}

	recolour() {
		colours.refresh();
		this.minimap.refresh();
		this.tabs[this.tab] = null;
		this.showTab(this.tab);
		for (const name of Object.keys(this.tabs)) {
			if (name !== this.tab)
				this.tabs[name] = null;
		}
		this.view.change();
	}

	help() {
		const dialog = $("keys");
		const groups = KEYS.map(([title, keys]) => el("div", null,
		    el("h2", null, title), list(keys.map(([key, text]) =>
			[el("span", null, ...key.split(", ").map((k) =>
			    el("kbd", null, k.trim()))), text]))));
		dialog.replaceChildren(el("h2", null, "Keys"),
		    el("div", {className: "columns"}, ...groups),
		    el("p", {className: "muted"}, "Search: text, a " +
			"goroutine's id, or name:, fn:, site:, reason:, " +
			"stack: and text."),
		    el("button", {onclick: () => dialog.close()}, "Close"));
		dialog.showModal();
	}

	/* ---- keys; true if it was one */

	key(name) {
		const {view} = this;
		const actions = {
			"/": () => $("search").select() || $("search").focus(),
			n: () => this.search.step(1),
			p: () => this.search.step(-1),
			"0": () => view.fit(), Home: () => view.fit(),
			f: () => this.zoomToSelection(),
			j: () => this.stepRow("next"),
			k: () => this.stepRow("prev"),
			u: () => this.toWaker(), o: () => this.toWoken(),
			m: () => this.toggle("threads"),
			l: () => this.toggle("detached"),
			r: () => this.toggle("arrows"),
			t: () => this.toggleTheme(),
			"?": () => this.help(),
			Escape: () => view.select(-1),
			ArrowUp: () => this.scroll(-40),
			ArrowDown: () => this.scroll(40),
			PageUp: () => this.scroll(20 - view.height),
			PageDown: () => this.scroll(view.height - 20),
		};
		const tab = this.tabNames[Number(name) - 1];
		if (tab)
			this.showTab(tab);
		else if (actions[name])
			actions[name]();
		else
			return false;
		return true;
	}

	scroll(by) {
		this.view.scroll += by;
		this.view.change();
	}

	zoomToSelection() {
		const {selected} = this.view;
		const {trace} = this;
		if (!selected || trace.g.first[selected.g] < 0)
			return;
		const from = selected.row >= 0 ? selected.row :
		    trace.g.first[selected.g];
		const to = selected.row >= 0 ? selected.row :
		    trace.g.last[selected.g];
		this.view.reveal(trace.rows.t[from], trace.rowEnd(to));
	}

	stepRow(direction) {
		const {selected} = this.view;
		if (!selected)
			return;
		const {rows, g} = this.trace;
		const to = selected.row < 0 ? g.first[selected.g] :
		    rows[direction][selected.row];
		if (to >= 0)
			this.go(selected.g, to);
	}

	toWaker() {
		const {selected} = this.view;
		const {rows} = this.trace;
		let i = selected ? selected.row >= 0 ? selected.row :
		    this.trace.g.last[selected.g] : -1;
		while (i >= 0 && !isWake(rows, i))
			i = rows.prev[i];
		if (i >= 0 && rows.by[i] >= 0)
			this.go(rows.by[i], wakerRow(this.trace, i));
	}

	/* The first that it woke in the span, or after it. */
	toWoken() {
		const {selected} = this.view;
		if (!selected)
			return;
		const {rows} = this.trace;
		const from = selected.row >= 0 ? rows.t[selected.row] : 0;
		const i = selected.woken.find((row) => rows.t[row] >= from &&
		    isWake(rows, row));
		if (i === undefined)
			return;
		const start = this.trace.startAfter(i);
		this.go(rows.g[i], start >= 0 ? start : i);
	}

	/* ---- tabs */

	makeTabs() {
		const {view, tracks, go, trace} = this;
		const show = {site: (site) => this.showSite(site)};
		const fixed = (make) => () => {
			const tab = {node: el("div"), refresh: () =>
			    tab.node.replaceChildren(make())};
			return tab;
		};
		this.makers = {
			Summary: fixed(() => summaryNode(view, tracks, show)),
			Details: fixed(() => detailsNode(view, go)),
			Goroutines: () => new GoroutineTab(view, go),
			Sites: () => siteTab(view, show),
			Stalls: () => new StallTab(view, go),
			Latency: () => new LatencyTab(view, go),
		};
		if (trace.tasks.length + trace.logs.length +
		    trace.regions.length)
			this.makers.User = () => new UserTab(view, go);
		if (trace.samples.length)
			this.makers.CPU = () => new SampleTab(view,
			    (text) => this.find(text));
		this.tabs = {};
		this.tabNames = Object.keys(this.makers);
		this.tab = "";
		this.showTab("Summary");
	}

	showTab(name) {
		this.tab = this.makers[name] ? name : "Summary";
		const tab = this.tabs[this.tab] = this.tabs[this.tab] ||
		    this.makers[this.tab]();
		$("tabs").replaceChildren(...this.tabNames.map((other) =>
		    el("button", {role: "tab", "aria-selected":
			String(other === this.tab), onclick: () =>
			this.showTab(other)}, other)));
		$("body").replaceChildren(tab.node);
		tab.refresh();
		this.saveHash();
	}

	refreshTab() {
		this.tabs[this.tab].refresh();
	}

	showSite(site) {
		this.showTab("Goroutines");
		this.tabs.Goroutines.setSite(site);
	}

	find(text) {
		$("search").value = text;
		this.search.run();
	}

	makeSplitter() {
		const splitter = $("splitter");
		const set = (height) => {
			$("panel").style.height = clamp(height, 120,
			    window.innerHeight - 220) + "px";
		};
		splitter.addEventListener("pointerdown", (e) =>
		    splitter.setPointerCapture(e.pointerId));
		splitter.addEventListener("pointermove", (e) => {
			if (splitter.hasPointerCapture(e.pointerId))
				set(window.innerHeight - e.clientY - 4);
		});
		splitter.addEventListener("keydown", (e) => {
			const by = {ArrowUp: 30, ArrowDown: -30}[e.key];
			if (!by)
				return;
			e.stopPropagation();
			set($("panel").offsetHeight + by);
		});
	}

	/* ---- the location */

	saveHash() {
		const {view, trace} = this;
		if (!this.hashRead)
			return;
		const {t0, t1} = view.goal;
		const parts = [`t=${Math.round(t0)}-${Math.round(t1)}`];
		if (view.selected)
			parts.push("g=" + trace.id(view.selected.g));
		if (this.tab !== "Summary")
			parts.push("tab=" + this.tab);
		const hash = "#" + parts.join("&");
		if (hash !== location.hash)
			history.replaceState(null, "", hash);
	}

	readHash() {
		const values = new URLSearchParams(location.hash.slice(1));
		const range = /^(-?\d{1,18})-(\d{1,18})$/.exec(
		    values.get("t") || "");
		if (range && Number(range[2]) > Number(range[1]))
			this.view.setRange(Number(range[1]), Number(range[2]));
		const g = this.trace.find(values.get("g") || "");
		const {selected} = this.view;
		if (g >= 0 && !(selected && selected.g === g))
			this.view.select(g, -1);
		if (values.get("tab"))
			this.showTab(values.get("tab"));
		this.hashRead = true;
	}

	/* What a test looks at. */
	state() {
		const {view, trace} = this;
		const {selected, matches, hover} = view;
		return {t0: view.t0, t1: view.t1, goal: [view.goal.t0,
			view.goal.t1], moving: Boolean(view.target),
			end: trace.end, rows: trace.rows.n,
			goroutines: trace.g.n, procs: trace.procs,
			frames: view.frames, drawMs: this.drawMs,
			tab: this.tab, arrows: view.arrows || 0,
			show: {...view.show}, scroll: view.scroll,
			selected: selected ? {id: trace.id(selected.g),
				row: selected.row} : null,
			hover: hover ? {kind: hover.kind, row: hover.row,
				id: hover.g >= 0 ? trace.id(hover.g) : ""} :
			    null,
			matches: matches ? matches.rows.length : -1,
			match: matches ? matches.at : -1,
			tracks: this.tracks.list.map((track) => ({
				kind: track.kind, label: track.label,
				y: track.y - view.scroll + RULER,
				height: track.height})),
			tracksHeight: this.tracks.height,
			gutter: view.gutter, width: view.width};
	}
}

/* Beside the pointer, and never over the edge. */
function placeTip(tip, x, y) {
	const {offsetWidth: w, offsetHeight: h} = tip;
	const left = x + 14 + w > innerWidth - 6 ? x - 14 - w : x + 14;
	const top = y + 16 + h > innerHeight - 6 ? y - 12 - h : y + 16;
	tip.style.left = clamp(left, 6, Math.max(6, innerWidth - w - 6)) + "px";
	tip.style.top = clamp(top, 6, Math.max(6, innerHeight - h - 6)) + "px";
}

async function start() {
	const began = performance.now();
	try {
		const columns = await readColumns();
		const page = new Page(new Trace(columns));
		$("loading").hidden = true;
		window.weftView = {page, state: () => page.state(),
			loadMs: performance.now() - began};
	} catch (error) {
		$("loading").replaceChildren(el("p", null,
		    "This trace cannot be shown: " + error.message));
		throw error;
	}
}

start();
