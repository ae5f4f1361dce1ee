/* SPDX-License-Identifier: MIT */
/* The tabs with a chart or a profile: scheduling latency, CPU samples. */

const SCOPES = ["Whole trace", "Visible range", "Selected goroutine",
	"Its spawn site"];

/* Rows of state RUNNING with a latency that belong to a scope. */
function latencies(view, scope) {
	const {trace, selected} = view;
	const {rows} = trace;
	if (scope === 0)
		return trace.histogram;
	const histogram = new Histogram();
	const add = (i) => {
		const latency = trace.latency(i);
		if (latency >= 0)
			histogram.add(latency, i);
	};
	if (scope === 1) {
		const from = lowerBound(rows.t, view.t0, 0, rows.n);
		const to = lowerBound(rows.t, view.t1, from, rows.n);
		for (let i = from; i < to; i++)
			add(i);
	} else if (selected && scope === 2) {
		selected.rows.forEach(add);
	} else if (selected) {
		const site = trace.g.site[selected.g];
		for (let i = 0; i < rows.n; i++) {
			if (rows.g[i] >= 0 && trace.g.site[rows.g[i]] === site)
				add(i);
		}
	}
	return histogram;
}

class LatencyTab {
	constructor(view, go) {
		this.view = view;
		this.go = go;
		this.scope = 0;
		this.tools = el("div", {className: "tools",
			style: "padding:0 0 8px"});
		this.figures = el("div", {style: "margin-bottom:8px"});
		this.canvas = el("canvas", {className: "chart"});
		this.canvas.addEventListener("click", (e) => this.click(e));
		this.canvas.addEventListener("pointermove",
		    (e) => this.hover(e));
		this.canvas.addEventListener("pointerleave", () =>
		    this.hover(null));
		this.note = el("p", {className: "muted"});
		this.node = el("div", {className: "pad"}, this.tools,
		    this.figures, this.canvas, this.note);
		this.said = "How long goroutines were runnable until a P ran " +
		    "them. A click on a bar shows the next one in it.";
		this.sized = new ResizeObserver(() => this.draw());
		this.sized.observe(this.canvas);
		this.setScope(0);
	}

	setScope(scope) {
		this.scope = scope;
		this.refresh();
	}

	refresh() {
		this.tools.replaceChildren(...SCOPES.map((name, i) => {
			const node = chip(name, i === this.scope,
			    () => this.setScope(i));
			node.disabled = i >= 2 && !this.view.selected;
			return node;
		}));
		this.histogram = latencies(this.view, this.scope);
		this.figures.replaceChildren(figures(this.histogram));
		this.note.textContent = this.said;
		this.draw();
	}

	/* The buckets from the first to the last that is not empty. */
	shown() {
		const {buckets} = this.histogram;
		let lo = 0;
		let hi = buckets.length - 1;
		while (lo < hi && !buckets[lo])
			lo++;
		while (hi > lo && !buckets[hi])
			hi--;
		return [Math.max(0, lo - 2), Math.min(buckets.length, hi + 3)];
	}

	draw() {
		const {canvas, histogram} = this;
		const ratio = window.devicePixelRatio || 1;
		const width = canvas.clientWidth;
		const height = canvas.clientHeight;
		if (!width || !histogram)
			return;
		canvas.width = Math.round(width * ratio);
		canvas.height = Math.round(height * ratio);
		const c = canvas.getContext("2d");
		c.scale(ratio, ratio);
		const [lo, hi] = this.range = this.shown();
		const most = Math.max(1, ...histogram.buckets);
		const bar = this.bar = width / (hi - lo);
		const bottom = height - 20;
		c.font = colours.font("11px");
		for (let i = lo; i < hi; i++) {
			const n = histogram.buckets[i];
			const high = n &&
			    Math.max(2, n / most * (bottom - 16));
			c.fillStyle = colours.state(STATE.RUNNABLE);
			c.fillRect((i - lo) * bar + 1, bottom - high,
			    Math.max(1, bar - 1.5), high);
		}
		this.axis(c, lo, hi, bar, bottom, width);
	}

	axis(c, lo, hi, bar, bottom, width) {
		c.fillStyle = colours.names.line;
		c.fillRect(0, bottom, width, 1);
		c.fillStyle = colours.names.soft;
		let free = 0;
		for (let power = 0; power < 12; power++) {
			const x = (4 * Math.log2(10 ** power) - lo) * bar;
			if (x < free || x > width - 30)
				continue;
			c.fillRect(x, bottom, 1, 4);
			c.fillText(duration(10 ** power).replace(/\.0+ /, " "),
			    x + 3, bottom + 14);
			free = x + 60;
		}
	}

	bucketAt(e) {
		const at = this.range[0] + Math.floor(e.offsetX / this.bar);
		return at < LATENCY_BUCKETS ? at : -1;
	}

	hover(e) {
		const at = e ? this.bucketAt(e) : -1;
		this.note.textContent = at < 0 ? this.said :
		    `${duration(latencyFrom(at))} to ` +
		    `${duration(latencyFrom(at + 1))}: ` +
		    count(this.histogram.buckets[at]);
	}

	/* The next start after the last that was shown, around the end. */
	click(e) {
		const bucket = this.bucketAt(e);
		const {trace, selected} = this.view;
		const {rows} = trace;
		const from = selected && selected.row >= 0 ?
		    selected.row + 1 : 0;
		for (let k = 0; k < rows.n; k++) {
			const i = (from + k) % rows.n;
			const latency = trace.latency(i);
			if (latency >= 0 && latencyBucket(latency) === bucket)
				return this.go(rows.g[i], rows.prev[i], true);
		}
	}
}

/* ---- CPU samples */

/* Functions with their samples: where it was, and where it was below. */
function profileOf(view, visible) {
	const {trace} = view;
	const table = new Map();
	const of = (frame) => {
		const fn = trace.frames[frame] ? trace.frames[frame].fn : "";
		if (!table.has(fn))
			table.set(fn, {fn, self: 0, all: 0, mark: -1,
				where: trace.where(trace.frames[frame])});
		return table.get(fn);
	};
	let n = 0;
	trace.samples.forEach((sample, i) => {
		if (visible && (sample.t < view.t0 || sample.t > view.t1))
			return;
		const stack = trace.stacks[sample.stack] || [];
		n++;
		stack.forEach((frame, depth) => {
			const entry = of(frame);
			entry.self += depth === 0 ? 1 : 0;
			entry.all += entry.mark === i ? 0 : 1;
			entry.mark = i;
		});
	});
	return {n, list: [...table.values()]};
}

class SampleTab {
	constructor(view, find) {
		this.view = view;
		this.visible = false;
		this.profile = {n: 0, list: []};
		const item = (i) => this.profile.list[i];
		const part = (x) => `${count(x)}  ${percent(x /
		    Math.max(1, this.profile.n))}`;
		this.table = new Table([
			{title: "Self", width: 120, num: true,
				key: (i) => item(i).self,
				text: (i) => part(item(i).self)},
			{title: "With callees", width: 120, num: true,
				key: (i) => item(i).all,
				text: (i) => part(item(i).all)},
			{title: "Function", width: 360, key: (i) => i,
				text: (i) => item(i).fn},
			{title: "At", width: 220, key: (i) => i,
				text: (i) => item(i).where},
		], {click: (i) => find("stack:" + item(i).fn)});
		this.table.sort = {column: 0, down: true};
		this.tools = el("div", {className: "tools"});
		this.node = page(this.tools, this.table);
		this.refresh();
	}

	refresh() {
		this.profile = profileOf(this.view, this.visible);
		this.tools.replaceChildren(
		    ...[false, true].map((visible) => chip(SCOPES[+visible],
			visible === this.visible,
			() => this.setVisible(visible))),
		    el("span", {className: "muted"},
			`${count(this.profile.n)} samples`));
		this.table.setItems(numbers(this.profile.list.length));
	}

	setVisible(visible) {
		this.visible = visible;
		this.refresh();
	}
}
