/* SPDX-License-Identifier: MIT */
/*
 * The tracks of the timeline, from top to bottom, and what is in each: the
 * lanes of Ps, of Ms, of goroutines without a P; tasks; log messages; moments
 * (CPU samples and what a P did).
 */

const MARKS = ["", "the monitor took it", "stole goroutines", "ran timers",
	"polled descriptors", "the number of Ps changed"];
const TASK_ROWS = 6;
const THREADS_MAX = 256;

/* Lists of rows for each value of column, made in two passes. */
function rowsBy(trace, column, n, wanted) {
	const {rows} = trace;
	const sizes = new Int32Array(n);
	for (let i = 0; i < rows.n; i++) {
		if (rows.g[i] >= 0 && wanted(rows, i) && column[i] >= 0)
			sizes[column[i]]++;
	}
	const lists = Array.from(sizes, (size) => new Int32Array(size));
	sizes.fill(0);
	for (let i = 0; i < rows.n; i++) {
		const at = column[i];
		if (rows.g[i] >= 0 && wanted(rows, i) && at >= 0)
			lists[at][sizes[at]++] = i;
	}
	return lists;
}

const onThread = (rows, i) => {
	const state = rows.state[i];
	return state === STATE.RUNNING || state === STATE.CALL ||
	    state === STATE.DETACHED || state === STATE.PAUSED;
};
const withoutP = (rows, i) => {
	const state = rows.state[i];
	return state === STATE.DETACHED || state === STATE.PAUSED ||
	    state === STATE.CALL && rows.p[i] < 0;
};

/* Moments of one track, in order of time. */
function moments(list) {
	return {t: Float64Array.from(list, (item) => item.t), items: list};
}

/* Tasks in as few rows as they need so that none overlap, up to a limit. */
function packTasks(trace) {
	const packed = [];
	const busy = [];
	for (const task of trace.tasks.slice().sort((a, b) => a.t - b.t)) {
		const end = task.length < 0 ? trace.end : task.t + task.length;
		let row = busy.findIndex((until) => until <= task.t);
		if (row < 0)
			row = Math.min(busy.length, TASK_ROWS - 1);
		busy[row] = end;
		(packed[row] = packed[row] || []).push({...task, end});
	}
	return packed;
}

class Tracks {
	constructor(trace, view) {
		this.trace = trace;
		this.view = view;
		const code = this.code = (i) => siteCode(
		    trace.g.site[trace.rows.g[i]],
		    trace.rows.state[i] !== STATE.RUNNING);
		this.procs = rowsBy(trace, trace.rows.p, trace.procs, onP)
		    .map((list) => new Lane(trace, list, code));
		this.moments = Array.from({length: trace.procs}, (_, p) =>
		    moments(trace.samples.filter((s) => s.p === p)));
		this.marks = Array.from({length: trace.procs}, (_, p) =>
		    trace.marks.of(p));
		this.logs = moments(trace.logs);
		this.tasks = packTasks(trace);
		this.queue = new Queue(trace);
		this.list = [];
	}

	/* Made when they are first shown. */
	get threads() {
		this.threadLanes = this.threadLanes || rowsBy(this.trace,
		    this.trace.rows.m, this.trace.threads, onThread)
		    .map((list) => new Lane(this.trace, list, this.code));
		return this.threadLanes;
	}

	get detached() {
		this.detachedLanes = this.detachedLanes || rowsBy(this.trace,
		    this.trace.rows.m, this.trace.threads, withoutP)
		    .map((list) => new Lane(this.trace, list, this.code));
		return this.detachedLanes;
	}

	/* The tracks that are shown, with their places. */
	layout() {
		const {view, trace} = this;
		const list = this.list = [];
		let y = 0;
		const add = (kind, height, label, more) => {
			list.push({kind, y, height, label, ...more});
			y += height;
		};
		if (view.selected)
			add("history", view.selected.regions.length ? 62 : 46,
			    "g" + shorten(trace.id(view.selected.g), 9));
		add("load", 52, "Load");
		if (view.show.user && trace.logs.length)
			add("logs", 18, "Log");
		const ticks = trace.samples.length + trace.marks.n ? 7 : 0;
		const span = this.spanOfP(y, ticks);
		this.procs.forEach((lane, p) => add("p", span + 3 + ticks,
		    "P" + p, {lane, p, span: {height: span}}));
		if (view.show.user)
			this.tasks.forEach((tasks, i) => add("tasks", 20,
			    i ? "" : "Tasks", {tasks}));
		if (view.show.detached)
			this.addThreads(add, "detached", this.detached);
		if (view.show.threads)
			this.addThreads(add, "m", this.threads);
		this.height = y + 8;
	}

	/* Lanes of Ps are higher where there are few. */
	spanOfP(y, ticks) {
		const {view, procs} = this;
		const more = view.show.detached || view.show.threads ||
		    view.show.user && this.tasks.length;
		const room = (view.height - RULER - y - 16) * (more ? 0.5 : 1);
		return clamp(Math.floor(room / Math.max(1, procs.length)) - 3 -
		    ticks, 22, 44);
	}

	addThreads(add, kind, lanes) {
		const used = numbers(lanes.length, (m) => lanes[m].n > 0);
		if (used.length)
			add("title", 20, kind === "m" ? "Threads" :
			    "Without a P");
		for (const m of used.subarray(0, THREADS_MAX))
			add(kind, 20, this.trace.thread(m), {lane: lanes[m], m,
				span: {height: 18}});
		if (used.length > THREADS_MAX)
			add("title", 20,
			    `and ${count(used.length - THREADS_MAX)} more`);
	}

	/* The track at y, with the scroll taken into account, or null. */
	at(y) {
		y += this.view.scroll - RULER;
		return this.list.find((track) => y >= track.y &&
		    y < track.y + track.height) || null;
	}

	/* Where the lane of row i is: [top, height], or null. */
	place(p, m) {
		const track = this.list.find((track) => p >= 0 ?
		    track.kind === "p" && track.p === p :
		    (track.kind === "detached" || track.kind === "m") &&
		    track.m === m);
		if (!track)
			return null;
		return {y: track.y - this.view.scroll + RULER,
			height: track.span.height + 2};
	}
}

/* ---- how many goroutines are runnable */

const QUEUE_BLOCK = 128;

/*
 * Their number, before each block of rows and at most within it: a pixel with
 * few rows is counted exactly, one with many by blocks.
 */
class Queue {
	constructor(trace) {
		const {rows} = this.trace = trace;
		const n = Math.ceil(rows.n / QUEUE_BLOCK);
		this.before = new Int32Array(n + 1);
		this.most = new Int32Array(n);
		let now = 0;
		for (let i = 0; i < rows.n; i++) {
			if (i % QUEUE_BLOCK === 0)
				this.before[i / QUEUE_BLOCK] =
				    this.most[i / QUEUE_BLOCK] = now;
			now += this.step(i);
			const block = (i - i % QUEUE_BLOCK) / QUEUE_BLOCK;
			if (now > this.most[block])
				this.most[block] = now;
		}
		this.before[n] = now;
		this.max = this.most.reduce((a, b) => Math.max(a, b), 1);
	}

	step(i) {
		const {rows} = this.trace;
		if (rows.g[i] < 0)
			return 0;
		const prev = rows.prev[i];
		const was = prev >= 0 && rows.state[prev] === STATE.RUNNABLE;
		return (rows.state[i] === STATE.RUNNABLE) - was;
	}

	/* Before row i. */
	count(i) {
		const block = Math.floor(i / QUEUE_BLOCK);
		let now = this.before[block];
		for (let k = block * QUEUE_BLOCK; k < i; k++)
			now += this.step(k);
		return now;
	}

	/* The most of rows [lo, hi), and before them. */
	peak(lo, hi) {
		if (hi - lo > 2 * QUEUE_BLOCK) {
			let most = 0;
			const last = Math.ceil(hi / QUEUE_BLOCK);
			for (let b = Math.floor(lo / QUEUE_BLOCK); b < last;
			    b++)
				most = Math.max(most, this.most[b]);
			return most;
		}
		let now = this.count(lo);
		let most = now;
		for (let i = lo; i < hi; i++)
			most = Math.max(most, now += this.step(i));
		return most;
	}
}
