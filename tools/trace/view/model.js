/* SPDX-License-Identifier: MIT */
/*
 * The trace, as the rest of the page sees it: rows chained for each goroutine,
 * sums for each goroutine and each spawn site, latencies, the longest stalls.
 * One pass over the rows makes most of it.
 */

const STATE_NAMES = ["unknown", "runnable", "running", "in a call", "waiting",
	"detached", "paused", "ended"];

const CAUSE_NAMES = ["", "spawned", "spawned, waiting",
	"was there at the start", "started", "blocked", "yielded",
	"preempted: its slice was over",
	"returned, but no P was free", "ended", "woken",
	"began a blocking call", "returned from the call",
	"paused in the signal handler", "resumed",
	"lost its P in a blocking call", "lost its P: it blocked in the kernel",
	"lost its P: it computed too long", "events were lost", "got a P"];

/* How a span of RUNNING and the like ended: by the row that came next. */
const END_NAMES = ["", "", "", "", "a P ran it", "blocked",
	"yielded", "was preempted: its slice was over",
	"waits for a P: none was free", "ended", "was made runnable",
	"began a blocking call", "the call returned",
	"was paused in the signal handler", "was resumed",
	"lost its P in the blocking call",
	"lost its P: it blocked in the kernel",
	"lost its P: it computed too long", "events were lost", "got a P"];

const STALL_STATES = [STATE.RUNNABLE, STATE.PAUSED, STATE.CALL, STATE.DETACHED,
	STATE.WAITING, STATE.RUNNING];
const STALLS_KEPT = 200;

/* ---- the longest of many, kept in a heap with the shortest on top */

class Longest {
	constructor(max) {
		this.max = max;
		this.length = 0;
		this.value = new Float64Array(max);
		this.row = new Int32Array(max);
	}

	add(value, row) {
		if (this.length < this.max)
			this.up(this.length++, value, row);
		else if (value > this.value[0])
			this.down(value, row);
	}

	put(i, value, row) {
		this.value[i] = value;
		this.row[i] = row;
	}

	up(i, value, row) {
		while (i > 0 && this.value[(i - 1) >> 1] > value) {
			const above = (i - 1) >> 1;
			this.put(i, this.value[above], this.row[above]);
			i = above;
		}
		this.put(i, value, row);
	}

	down(value, row) {
		let i = 0;
		for (let child; (child = 2 * i + 1) < this.length; i = child) {
			if (child + 1 < this.length &&
			    this.value[child + 1] < this.value[child])
				child++;
			if (this.value[child] >= value)
				break;
			this.put(i, this.value[child], this.row[child]);
		}
		this.put(i, value, row);
	}

	/* Rows, longest first. */
	sorted() {
		return Array.from({length: this.length}, (_, i) => i)
		    .sort((a, b) => this.value[b] - this.value[a])
		    .map((i) => this.row[i]);
	}
}

/* ---- tables of the file */

function readTables(columns) {
	const meta = JSON.parse(new TextDecoder()
	    .decode(columns.meta || new Uint8Array()) || "{}");
	const strings = new Strings(columns["str.len"], columns["str.bytes"]);
	const place = (next) => ({fn: strings.get(next()),
		file: strings.get(next()), line: next()});
	const frames = readRecords(columns.frames, place);
	const stacks = readRecords(columns.stacks, (next) => {
		const stack = new Array(next());
		for (let i = 0; i < stack.length; i++)
			stack[i] = next();
		return stack;
	});
	return {meta, strings, frames, stacks,
		sites: readRecords(columns.sites, place),
		reasons: readRecords(columns.reasons,
		    (next) => strings.get(next())),
		objects: readWords(columns.objects),
		threadNumbers: readWords(columns.threads)};
}

/* Times in these tables are absolute, but the first may be a difference. */
function readUser(columns, trace) {
	let t = 0;
	trace.world = readRecords(columns.world, (next) => ({
		t: t += next(), end: t + next(), g: next() - 1}));
	trace.tasks = readRecords(columns.tasks, (next) => ({
		id: next(), parent: next() - 1, t: next(), length: next() - 1,
		g: next() - 1, name: next()}));
	trace.regions = readRecords(columns.regions, (next) => ({
		g: next() - 1, t: next(), length: next() - 1, task: next() - 1,
		name: next()}));
	t = 0;
	trace.logs = readRecords(columns.logs, (next) => ({t: t += next(),
		g: next() - 1, p: next() - 1, m: next(), task: next() - 1,
		text: next()}));
	t = 0;
	trace.samples = readRecords(columns.samples, (next) => ({
		t: t += next(), g: next() - 1, p: next() - 1, m: next(),
		stack: next()}));
	trace.marks = new Marks(columns.marks);
}

/* What Ps did; there may be very many. */
class Marks {
	constructor(bytes) {
		const numbers = new Varints(bytes);
		let t = 0;
		this.columns = {t: [], kind: [], p: [], m: [], a: []};
		const {columns} = this;
		while (numbers.more) {
			columns.t.push(t += numbers.next());
			columns.kind.push(numbers.next());
			columns.p.push(numbers.next() - 1);
			columns.m.push(numbers.next());
			columns.a.push(numbers.next());
		}
		this.n = columns.t.length;
		this.last = t;
	}

	/* Those of one P, as tracks have moments. */
	of(p) {
		const {columns} = this;
		const index = numbers(this.n, (i) => columns.p[i] === p);
		return {t: Float64Array.from(index, (i) => columns.t[i]),
			item: (k) => ({t: columns.t[index[k]], p, g: -1,
			    kind: columns.kind[index[k]],
			    m: columns.m[index[k]], a: columns.a[index[k]]})};
	}
}

function readGoroutines(columns, rows) {
	const ids = readWords(columns["g.id"]);
	const sites = new Varints(columns["g.site"]);
	const names = new Varints(columns["g.name"]);
	const n = ids.n;
	const g = {n, ids, site: new Int32Array(n), name: new Int32Array(n),
		first: new Int32Array(n).fill(-1),
		last: new Int32Array(n).fill(-1), slices: new Int32Array(n),
		maxLatency: new Float64Array(n),
		time: STATE_NAMES.map(() => new Float64Array(n))};
	for (let i = 0; i < n; i++) {
		g.site[i] = sites.next();
		g.name[i] = names.next();
	}
	chainRows(rows, g);
	return g;
}

/* Rows that name no goroutine of the table are kept out of all chains. */
function chainRows(rows, g) {
	for (let i = 0; i < rows.n; i++) {
		const id = rows.g[i];
		if (!(id >= 0 && id < g.n)) {
			rows.g[i] = -1;
			continue;
		}
		const last = g.last[id];
		rows.prev[i] = last;
		if (last >= 0)
			rows.next[last] = i;
		else
			g.first[id] = i;
		g.last[id] = i;
	}
}

/* ---- latencies */

const LATENCY_BUCKETS = 4 * 40;		/* four for each power of two */

function latencyBucket(ns) {
	return ns < 1 ? 0 : clamp(Math.floor(4 * Math.log2(ns)), 0,
	    LATENCY_BUCKETS - 1);
}

const latencyFrom = (bucket) => bucket === 0 ? 0 : 2 ** (bucket / 4);

/* A sum for each bucket, and what can be said of all. */
class Histogram {
	constructor() {
		this.buckets = new Float64Array(LATENCY_BUCKETS);
		this.n = 0;
		this.max = 0;
		this.maxRow = -1;
		this.sum = 0;
	}

	add(ns, row) {
		this.buckets[latencyBucket(ns)]++;
		this.n++;
		this.sum += ns;
		if (ns > this.max || this.maxRow < 0) {
			this.max = ns;
			this.maxRow = row;
		}
	}

	/* The upper end of the bucket in which that fraction is reached. */
	quantile(q) {
		let left = q * this.n;
		for (let i = 0; i < LATENCY_BUCKETS; i++) {
			left -= this.buckets[i];
			if (left <= 0)
				return Math.min(latencyFrom(i + 1), this.max);
		}
		return this.max;
	}
}

/* ---- the trace */

class Trace {
	constructor(columns) {
		Object.assign(this, readTables(columns));
		readUser(columns, this);
		this.rows = readRows(columns);
		this.g = readGoroutines(columns, this.rows);
		this.end = this.findEnd();
		this.sum();
		this.sumSites();
	}

	findEnd() {
		const {rows} = this;
		let end = rows.n ? rows.t[rows.n - 1] : 0;
		for (const list of [this.logs, this.samples]) {
			if (list.length)
				end = Math.max(end, list[list.length - 1].t);
		}
		for (const world of this.world)
			end = Math.max(end, world.end);
		return Math.max(end, this.marks.last, this.meta.end || 0, 1);
	}

	/*
	 * Since when the state holds that row i tells: what was so at the
	 * beginning is known only from a later event.
	 */
	rowStart(i) {
		const {rows} = this;
		return rows.cause[i] === CAUSE.STATUS && !onThread(rows, i) ?
		    0 : rows.t[i];
	}

	/* When the state that row i began is over. */
	rowEnd(i) {
		const {rows, end} = this;
		const next = rows.next[i];
		return next >= 0 ? rows.t[next] :
		    rows.state[i] === STATE.DEAD ? rows.t[i] : end;
	}

	rowLength(i) {
		return this.rowEnd(i) - this.rowStart(i);
	}

	/* How long the goroutine was runnable before row i, or -1. */
	latency(i) {
		const {rows} = this;
		let at = rows.prev[i];
		if (rows.state[i] !== STATE.RUNNING || at < 0 ||
		    rows.state[at] !== STATE.RUNNABLE)
			return -1;
		return rows.t[i] - this.rowStart(at);
	}

	sum() {
		const {rows, g} = this;
		this.histogram = new Histogram();
		this.longest = STATE_NAMES.map(() => new Longest(STALLS_KEPT));
		this.procs = 0;
		this.threads = 0;
		this.detached = false;
		for (let i = 0; i < rows.n; i++) {
			if (rows.g[i] >= 0)
				this.sumRow(i, rows, g);
		}
		this.procs = Math.max(this.procs,
		    Math.min(this.meta.procs || 0, 1024));
	}

	sumRow(i, rows, g) {
		const id = rows.g[i];
		const state = rows.state[i];
		const length = this.rowLength(i);
		g.time[state][id] += length;
		if (state !== STATE.DEAD && state !== STATE.NONE)
			this.longest[state].add(length, i);
		if (rows.p[i] >= this.procs)
			this.procs = rows.p[i] + 1;
		if (rows.m[i] >= this.threads)
			this.threads = rows.m[i] + 1;
		if (state === STATE.RUNNING)
			this.sumStart(i, id, g);
		else if (state === STATE.DETACHED || rows.p[i] < 0 &&
		    (state === STATE.CALL || state === STATE.PAUSED))
			this.detached = true;
	}

	sumStart(i, id, g) {
		const latency = this.latency(i);
		g.slices[id]++;
		if (latency < 0)
			return;
		this.histogram.add(latency, i);
		if (latency > g.maxLatency[id])
			g.maxLatency[id] = latency;
	}

	sumSites() {
		const {g} = this;
		this.groups = this.sites.map((site, i) => ({site: i, n: 0,
			slices: 0, maxLatency: 0,
			time: STATE_NAMES.map(() => 0)}));
		for (let i = 0; i < g.n; i++) {
			const group = this.groups[g.site[i]];
			if (!group)
				continue;
			group.n++;
			group.slices += g.slices[i];
			group.maxLatency = Math.max(group.maxLatency,
			    g.maxLatency[i]);
			for (let s = 0; s < g.time.length; s++)
				group.time[s] += g.time[s][i];
		}
	}

	/* ---- names */

	id(g) {
		return g < 0 ? "–" : wordText(this.g.ids, g);
	}

	/* The goroutine with that id, or -1. */
	find(text) {
		if (!/^[0-9]{1,20}$/.test(text))
			return -1;
		const id = BigInt(text);
		const lo = Number(id & 0xffffffffn);
		const hi = Number(id >> 32n);
		const {ids} = this.g;
		for (let i = 0; i < ids.n; i++) {
			if (ids.lo[i] === lo && ids.hi[i] === hi)
				return i;
		}
		return -1;
	}

	thread(m) {
		return m > 0 && m < this.threadNumbers.n ?
		    "M" + wordText(this.threadNumbers, m) : "none";
	}

	name(g) {
		return g < 0 ? "" : this.strings.get(this.g.name[g]);
	}

	site(g) {
		return g < 0 ? null : this.sites[this.g.site[g]] || null;
	}

	/* What stands on a slice: its name, or its function. */
	label(g) {
		const site = this.site(g);
		return this.name(g) || site && site.fn || "goroutine";
	}

	where(site) {
		return !site ? "unknown" : !site.file ? "" :
		    basename(site.file) + (site.line ? ":" + site.line : "");
	}

	reason(i) {
		return this.reasons[this.rows.reason[i]] || "waiting";
	}

	/* "waiting: chan receive" */
	stateText(i) {
		const state = this.rows.state[i];
		return state === STATE.WAITING ? this.reason(i) :
		    STATE_NAMES[state];
	}

	/* The row of goroutine g at time t, or -1. */
	rowAt(g, t) {
		const {rows} = this;
		let i = this.g.first[g];
		if (i < 0 || rows.t[i] > t)
			return -1;
		while (rows.next[i] >= 0 && rows.t[rows.next[i]] <= t)
			i = rows.next[i];
		return i;
	}

	/* The first row of state RUNNING after row i, or -1: the wake's end. */
	startAfter(i) {
		const {rows} = this;
		for (let hops = 0; i >= 0 && hops < 8; hops++) {
			if (rows.state[i] === STATE.RUNNING)
				return i;
			i = rows.next[i];
		}
		return -1;
	}
}
