/* SPDX-License-Identifier: MIT */
/*
 * A lane: spans of time that do not overlap, and how they are drawn at any
 * zoom. A pixel may hold thousands of spans; it gets the colour of the longest
 * of them, and is as opaque as it is busy. Both are found without looking at
 * each span: sums of length from the left, and a tree in which each node is
 * the longest of FANOUT nodes below it.
 */

const FANOUT = 16;

class Lane {
	/* rows: indices in order of time; code(row): index of the palette. */
	constructor(trace, rows, code) {
		const n = rows.length;
		this.n = n;
		this.row = rows;
		this.start = new Float64Array(n);
		this.end = new Float64Array(n);
		this.code = new Uint16Array(n);
		this.sum = new Float64Array(n + 1);
		for (let i = 0; i < n; i++) {
			const row = rows[i];
			const start = trace.rowStart(row);
			this.start[i] = start;
			this.end[i] = trace.rowEnd(row);
			this.code[i] = code(row);
			/* Clocks may differ a little: no overlap. */
			if (i > 0 && this.end[i - 1] > start)
				this.end[i - 1] = start;
		}
		for (let i = 0; i < n; i++)
			this.sum[i + 1] = this.sum[i] + this.end[i] -
			    this.start[i];
		this.levels = this.makeLevels();
	}

	makeLevels() {
		const levels = [];
		for (let n = this.n, below = null; n > FANOUT; ) {
			n = Math.ceil(n / FANOUT);
			const level = new Int32Array(n);
			for (let i = 0; i < n; i++)
				level[i] = this.longestOf(below, i);
			levels.push(below = level);
		}
		return levels;
	}

	/* Of the FANOUT spans, or nodes below, of node i. */
	longestOf(below, i) {
		const length = below ? below.length : this.n;
		const last = Math.min((i + 1) * FANOUT, length);
		let best = -1;
		for (let k = i * FANOUT; k < last; k++) {
			const span = below ? below[k] : k;
			if (best < 0 || this.length(span) > this.length(best))
				best = span;
		}
		return best;
	}

	length(i) {
		return this.end[i] - this.start[i];
	}

	/*
	 * The longest span of [lo, hi), which is not empty: at each level the
	 * nodes up to a whole node of the next are looked at one by one.
	 */
	longest(lo, hi) {
		let best = lo;
		let nodes = null;
		for (let level = 0; level < this.levels.length; level++) {
			if (hi - lo <= 2 * FANOUT)
				break;
			const from = Math.ceil(lo / FANOUT);
			const to = Math.floor(hi / FANOUT);
			best = this.better(best, nodes, lo, from * FANOUT);
			best = this.better(best, nodes, to * FANOUT, hi);
			lo = from;
			hi = to;
			nodes = this.levels[level];
		}
		return this.better(best, nodes, lo, hi);
	}

	/* The longest of `best` and of the spans or nodes [lo, hi). */
	better(best, nodes, lo, hi) {
		const {start, end} = this;
		let most = end[best] - start[best];
		for (; lo < hi; lo++) {
			const span = nodes === null ? lo : nodes[lo];
			const length = end[span] - start[span];
			if (length > most) {
				most = length;
				best = span;
			}
		}
		return best;
	}

	/* The first span that ends after t. */
	after(t) {
		let i = lowerBound(this.end, t, 0, this.n);
		while (i < this.n && this.end[i] <= t)
			i++;
		return i;
	}

	/* The span at time t, or the longest in [t, t1), or -1. */
	at(t, t1) {
		const i = this.after(t);
		if (i >= this.n || this.start[i] >= t1)
			return -1;
		if (this.start[i] <= t && this.end[i] >= t1)
			return i;
		return this.longest(i, gallop(this.start, t1, i, this.n));
	}

	/* Time that spans take of [t0, t1), of which i is the first. */
	busyFrom(i, t0, t1) {
		const j = gallop(this.start, t1, i, this.n);
		if (j <= i)
			return 0;
		return this.sum[j] - this.sum[i] -
		    Math.max(0, t0 - this.start[i]) -
		    Math.max(0, this.end[j - 1] - t1);
	}

	busy(t0, t1) {
		return this.busyFrom(this.after(t0), t0, t1);
	}
}

const RUN_MIN = 4;		/* pixels of a span that gets a left edge */

/*
 * One line of pixels: out[0..width) is 0xAABBGGRR. Spans that are at least
 * wideMin pixels wide are pushed to `wide`, for their labels.
 */
function rasterize(lane, t0, perPixel, width, palette, out, wide, wideMin) {
	const {start, end, n} = lane;
	let i = lane.after(t0);
	let x = 0;
	out.fill(0, 0, width);
	while (i < n && x < width) {
		let t = t0 + x * perPixel;
		if (start[i] >= t + perPixel) {
			x = Math.max(x + 1,
			    Math.floor((start[i] - t0) / perPixel));
			if (x >= width)
				break;
			t = t0 + x * perPixel;
		}
		if (start[i] <= t && end[i] >= t + perPixel) {
			const last = clamp(Math.floor((end[i] - t0) / perPixel),
			    x + 1, width);
			fillRun(out, x, last, palette[lane.code[i]]);
			if (wide && (end[i] - start[i]) / perPixel >= wideMin)
				wide.push(i);
			x = last;
			while (i < n && end[i] <= t0 + x * perPixel)
				i++;
			continue;
		}
		i = mixPixel(lane, i, t, perPixel, palette, out, x);
		x++;
	}
}

function fillRun(out, from, to, colour) {
	out.fill(colour | 0xff000000, from, to);
	if (to - from >= RUN_MIN)
		out[from] = colour | 0x98000000;
}

/* Returns the first span that ends after this pixel. */
function mixPixel(lane, i, t, perPixel, palette, out, x) {
	const t1 = t + perPixel;
	const j = gallop(lane.start, t1, i + 1, lane.n);
	const busy = lane.sum[j] - lane.sum[i] -
	    Math.max(0, t - lane.start[i]) - Math.max(0, lane.end[j - 1] - t1);
	const best = j - i === 1 ? i : lane.longest(i, j);
	const alpha = Math.round(clamp(busy / perPixel, 0.25, 1) * 255);
	out[x] = palette[lane.code[best]] | alpha << 24;
	i = j - 1;
	while (i < lane.n && lane.end[i] <= t1)
		i++;
	return i;
}
