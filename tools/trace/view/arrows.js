/* SPDX-License-Identifier: MIT */
/*
 * Arrows from a waker to what it woke: from the row by which a goroutine became
 * runnable, on the lane of the waker, to the row with which it started.
 */

const ARROW_ROWS = 6000;	/* rows in view that are looked at for all */
const ARROWS_MAX = 300;		/* in view that are drawn for all */
const ARROWS_SELECTED = 1500;

const isWake = (rows, i) => rows.cause[i] === CAUSE.UNBLOCK ||
    rows.cause[i] === CAUSE.CREATE;

/* Those of a sorted list of rows whose time is in view. */
function inView(view, list) {
	const {rows} = view.trace;
	let lo = 0;
	let hi = list.length;
	const margin = (view.t1 - view.t0) * 0.5;
	while (lo < hi) {
		const mid = (lo + hi) >>> 1;
		if (rows.t[list[mid]] < view.t0 - margin)
			lo = mid + 1;
		else
			hi = mid;
	}
	const from = lo;
	while (lo < list.length && rows.t[list[lo]] <= view.t1 &&
	    lo - from < 4 * ARROWS_SELECTED)
		lo++;
	return list.subarray(from, lo);
}

/* Rows by which any goroutine became runnable, if they are few. */
function wakesInView(view) {
	const {rows} = view.trace;
	const lo = lowerBound(rows.t, view.t0, 0, rows.n);
	const hi = lowerBound(rows.t, view.t1, lo, rows.n);
	const wakes = [];
	if (hi - lo > ARROW_ROWS)
		return wakes;
	for (let i = lo; i < hi; i++) {
		if (isWake(rows, i))
			wakes.push(i);
	}
	return wakes.length <= ARROWS_MAX ? wakes : [];
}

/* Of the span under the pointer: what woke it, and what it woke. */
function wakesOf(view, row) {
	const {rows} = view.trace;
	const wakes = [];
	const prev = rows.prev[row];
	if (prev >= 0 && isWake(rows, prev))
		wakes.push(prev);
	const end = view.trace.rowEnd(row);
	for (let i = row + 1; i < rows.n && i - row < ARROW_ROWS &&
	    rows.t[i] <= end; i++) {
		if (rows.by[i] === rows.g[row] && isWake(rows, i))
			wakes.push(i);
	}
	return wakes;
}

function drawArrows(painter) {
	const {context: c, view, colours} = painter;
	if (!view.show.arrows)
		return;
	painter.clipPlot();
	c.lineWidth = 1;
	const draw = (wakes, colour, alpha) => {
		c.strokeStyle = c.fillStyle = colour;
		c.globalAlpha = alpha;
		let n = 0;
		for (const i of wakes) {
			if (n < ARROWS_SELECTED && drawArrow(painter, i))
				n++;
		}
		c.globalAlpha = 1;
		return n;
	};
	const quiet = view.selected || view.hover && view.hover.row >= 0;
	view.arrows = quiet && view.selected ? 0 :
	    draw(wakesInView(view), colours.names.soft, quiet ? 0.45 : 0.6);
	if (view.selected) {
		const own = view.selected.rows;
		const {rows} = view.trace;
		view.arrows += draw(inView(view, own).filter(
		    (i) => isWake(rows, i)), colours.names.accent, 0.9);
		view.arrows += draw(inView(view, view.selected.woken).filter(
		    (i) => isWake(rows, i)), colours.names.match, 0.8);
	}
	if (view.hover && view.hover.row >= 0)
		view.arrows += draw(wakesOf(view, view.hover.row),
		    colours.names.text, 0.9);
	c.restore();
}

/* False if it is not seen. */
function drawArrow(painter, i) {
	const {view, tracks, trace, context: c} = painter;
	const {rows} = trace;
	const start = trace.startAfter(i);
	if (start < 0)
		return false;
	const from = tracks.place(rows.p[i], rows.m[i]);
	const to = tracks.place(rows.p[start], rows.m[start]);
	const x0 = view.x(rows.t[i]);
	const x1 = view.x(rows.t[start]);
	if (!to || x1 < view.gutter - 20 || x0 > view.width + 20 ||
	    x1 - x0 > 4 * view.plot)
		return false;
	const y1 = to.y + to.height / 2;
	const y0 = from ? from.y + from.height / 2 : RULER;
	const bend = y0 === y1 ? Math.min(18, 4 + (x1 - x0) / 6) : 0;
	const pull = Math.max(8, (x1 - x0) / 2);
	c.beginPath();
	c.moveTo(x0, y0);
	c.bezierCurveTo(x0 + pull, y0 - bend, x1 - pull, y1 - bend, x1 - 3, y1);
	c.stroke();
	c.beginPath();
	c.moveTo(x1, y1);
	c.lineTo(x1 - 6, y1 - 3);
	c.lineTo(x1 - 6, y1 + 3);
	c.fill();
	c.fillRect(x0 - 1.5, y0 - 1.5, 3, 3);
	return true;
}
