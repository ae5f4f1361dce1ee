/* SPDX-License-Identifier: MIT */
/*
 * What part of the trace is seen, what is selected, and when to draw: a frame
 * is asked for by change(), and drawn once. Times are nanoseconds, positions
 * CSS pixels.
 */

const RULER = 24;
const MIN_SPAN = 20;		/* ns across the screen */

class View {
	constructor(trace) {
		this.trace = trace;
		this.t0 = 0;
		this.t1 = trace.end;
		this.scroll = 0;
		this.width = 1;
		this.height = 1;
		this.gutter = 84;
		this.ratio = 1;
		this.show = {threads: false, detached: trace.detached,
			arrows: true, user: true};
		this.selected = null;	/* see select() */
		this.hover = null;
		this.matches = null;
		this.listeners = {frame: [], select: [], range: []};
		this.pending = false;
		this.target = null;
		this.frames = 0;
	}

	on(what, fn) {
		this.listeners[what].push(fn);
	}

	tell(what, value) {
		for (const fn of this.listeners[what])
			fn(value);
	}

	/* Asks for a frame. */
	change() {
		if (this.pending)
			return;
		this.pending = true;
		requestAnimationFrame((now) => {
			this.pending = false;
			this.animate(now);
			this.frames++;
			this.tell("frame");
		});
	}

	/* ---- time and pixels */

	get plot() {
		return Math.max(1, this.width - this.gutter);
	}

	/* Time of one pixel of the device. */
	get perPixel() {
		return (this.t1 - this.t0) / Math.round(this.plot * this.ratio);
	}

	/*
	 * Where drawing begins: whole pixels, so that the same spans share a
	 * pixel while the view moves.
	 */
	get origin() {
		const step = this.perPixel;
		return Math.floor(this.t0 / step) * step;
	}

	x(t) {
		return this.gutter + (t - this.origin) / (this.t1 - this.t0) *
		    this.plot;
	}

	t(x) {
		return this.origin + (x - this.gutter) / this.plot *
		    (this.t1 - this.t0);
	}

	/* ---- moving */

	setRange(t0, t1, animated) {
		const most = this.trace.end * 1.04 + MIN_SPAN;
		const span = clamp(t1 - t0, MIN_SPAN, most);
		const mid = (t0 + t1) / 2;
		const margin = Math.min(span * 0.5, this.trace.end * 0.02);
		t0 = clamp(mid - span / 2, -margin,
		    Math.max(-margin, this.trace.end + margin - span));
		if (animated && !matchMedia("(prefers-reduced-motion: reduce)")
		    .matches) {
			this.target = {t0, t1: t0 + span, from0: this.t0,
				from1: this.t1, began: -1};
		} else {
			this.target = null;
			this.t0 = t0;
			this.t1 = t0 + span;
		}
		this.tell("range");
		this.change();
	}

	/* The range that it is, or will be when the animation is over. */
	get goal() {
		return this.target || this;
	}

	/* The length changes by the same factor in each frame. */
	animate(now) {
		const to = this.target;
		if (!to)
			return;
		if (to.began < 0)
			to.began = now - 16;
		const part = clamp((now - to.began) / 180, 0, 1);
		const eased = 1 - (1 - part) ** 3;
		const span0 = to.from1 - to.from0;
		const span1 = to.t1 - to.t0;
		const span = span0 * (span1 / span0) ** eased;
		const k = Math.abs(span1 - span0) < 1e-9 * span0 ? eased :
		    (span - span0) / (span1 - span0);
		this.t0 = to.from0 + (to.t0 - to.from0) * k;
		this.t1 = this.t0 + span;
		if (part < 1) {
			this.change();
		} else {
			this.t0 = to.t0;
			this.t1 = to.t1;
			this.target = null;
		}
	}

	zoom(factor, x, animated) {
		const {t0, t1} = this.goal;
		const part = x === undefined ? 0.5 :
		    clamp((x - this.gutter) / this.plot, 0, 1);
		const span = clamp((t1 - t0) * factor, MIN_SPAN,
		    this.trace.end * 1.04 + MIN_SPAN);
		const at = t0 + part * (t1 - t0);
		this.setRange(at - part * span, at + (1 - part) * span,
		    animated);
	}

	/* By a part of what is seen. */
	pan(part, animated) {
		const {t0, t1} = this.goal;
		const by = part * (t1 - t0);
		this.setRange(t0 + by, t1 + by, animated);
	}

	fit() {
		this.setRange(0, this.trace.end, true);
	}

	/* Shows [t0, t1) with some space around it. */
	reveal(t0, t1) {
		const span = Math.max(t1 - t0, MIN_SPAN) * 1.6;
		const mid = (t0 + t1) / 2;
		this.setRange(mid - span / 2, mid + span / 2, true);
	}

	/* ---- selection */

	/* A goroutine, and one of its rows or -1 for the whole of it. */
	select(g, row) {
		if (g < 0) {
			this.selected = null;
		} else if (!this.selected || this.selected.g !== g) {
			this.selected = selection(this.trace, g);
		}
		if (this.selected)
			this.selected.row = row === undefined ? -1 : row;
		this.tell("select", this.selected);
		this.change();
	}
}

/* All that is drawn of one goroutine. */
function selection(trace, g) {
	const {rows} = trace;
	const own = [];
	for (let i = trace.g.first[g]; i >= 0; i = rows.next[i])
		own.push(i);
	const woken = [];
	for (let i = 0; i < rows.n; i++) {
		if (rows.by[i] === g)
			woken.push(i);
	}
	return {g, rows: Int32Array.from(own), woken: Int32Array.from(woken),
		regions: trace.regions.filter((region) => region.g === g),
		lane: new Lane(trace, own.filter(
		    (i) => rows.state[i] !== STATE.DEAD),
		    (i) => stateCode(rows.state[i], rows.reason[i])),
		lanes: lanesByP(trace, own), threads: lanesByM(trace, own),
		row: -1};
}

/* The same for each M that it ran on, by its number. */
function lanesByM(trace, list) {
	const {rows} = trace;
	const byM = new Map();
	for (const i of list) {
		if (!onThread(rows, i))
			continue;
		if (!byM.has(rows.m[i]))
			byM.set(rows.m[i], []);
		byM.get(rows.m[i]).push(i);
	}
	for (const [m, own] of byM)
		byM.set(m, new Lane(trace, own, (i) => siteCode(
		    trace.g.site[rows.g[i]], rows.state[i] !== STATE.RUNNING)));
	return byM;
}

const onP = (rows, i) => rows.p[i] >= 0 && (rows.state[i] === STATE.RUNNING ||
    rows.state[i] === STATE.CALL);

/* A lane for each P of those rows that are spent on one. */
function lanesByP(trace, list) {
	const {rows} = trace;
	const byP = Array.from({length: trace.procs}, () => []);
	for (const i of list) {
		if (onP(rows, i))
			byP[rows.p[i]].push(i);
	}
	return byP.map((own) => new Lane(trace, own,
	    (i) => siteCode(trace.g.site[rows.g[i]],
		rows.state[i] === STATE.CALL)));
}
