/* SPDX-License-Identifier: MIT */
/*
 * Draws the timeline: lanes first as lines of pixels in a picture of one line
 * a lane, which is stretched to the height of the lanes, then what lies over
 * them. Only tracks and spans that are seen are looked at.
 */

const TEXT_MIN = 34;		/* pixels of a span that gets a label */
const TICKS_MAX = 4000;

class Painter {
	constructor(canvas, view, tracks, colours) {
		this.canvas = canvas;
		this.context = canvas.getContext("2d", {alpha: false});
		this.strip = document.createElement("canvas");
		this.view = view;
		this.tracks = tracks;
		this.colours = colours;
		this.trace = view.trace;
	}

	/* Takes over the size of the element. */
	resize() {
		const {canvas, view} = this;
		const box = canvas.getBoundingClientRect();
		view.ratio = Math.min(window.devicePixelRatio || 1, 3);
		view.width = box.width;
		view.height = box.height;
		view.gutter = parseInt(css("--gutter"), 10) || 84;
		canvas.width = Math.round(box.width * view.ratio);
		canvas.height = Math.round(box.height * view.ratio);
		view.change();
	}

	draw() {
		const {context: c, view, tracks, colours} = this;
		tracks.layout();
		view.scroll = clamp(view.scroll, 0, Math.max(0,
		    tracks.height + RULER - view.height));
		c.setTransform(view.ratio, 0, 0, view.ratio, 0, 0);
		c.fillStyle = colours.names.ground;
		c.fillRect(0, 0, view.width, view.height);
		c.textBaseline = "middle";
		const shown = tracks.list.filter((track) =>
		    track.y + track.height > view.scroll &&
		    track.y < view.scroll + view.height);
		this.drawLanes(shown);
		for (const track of shown)
			this.drawTrack(track);
		this.drawWorld();
		drawArrows(this);
		this.drawFocus();
		this.drawGutter(shown);
		this.drawRuler();
	}

	top(track) {
		return track.y - this.view.scroll + RULER;
	}

	clipPlot() {
		const {context: c, view} = this;
		c.save();
		c.beginPath();
		c.rect(view.gutter, RULER, view.plot, view.height);
		c.clip();
	}

	/* ---- lanes */

	/* Each line of the strip: a lane, its palette, where it goes. */
	lines(shown) {
		const {view, colours} = this;
		const dim = Boolean(view.selected || view.matches);
		const lines = [];
		for (const track of shown) {
			const y = this.top(track);
			const line = (lane, palette, alpha, wide, dy, height) =>
			    lines.push({lane, palette, alpha, wide, y: y + dy,
				height, track});
			if (track.kind === "history")
				line(view.selected.lane, colours.states, 1,
				    true, 20, 20);
			if (!track.lane)
				continue;
			const {height} = track.span;
			line(track.lane, colours.sites, dim ? 0.32 : 1, true, 1,
			    height);
			for (const over of [view.matches, view.selected]) {
				const lane = over && (track.kind === "p" ?
				    over.lanes[track.p] :
				    over.threads && over.threads.get(track.m));
				if (lane)
					line(lane, colours.sites, 1, true, 1,
					    height);
			}
		}
		return lines;
	}

	drawLanes(shown) {
		const {context: c, view, strip, colours} = this;
		const lines = this.lines(shown);
		const width = Math.max(1, Math.round(view.plot * view.ratio));
		c.fillStyle = colours.names.lane;
		for (const track of shown) {
			if (track.lane)
				c.fillRect(view.gutter, this.top(track) + 1,
				    view.plot, track.span.height);
		}
		this.drawGrid();
		if (!lines.length)
			return;
		if (strip.width !== width || strip.height < lines.length) {
			strip.width = width;
			strip.height = lines.length + 8;
		}
		this.fillStrip(lines, width);
		c.imageSmoothingEnabled = false;
		lines.forEach((line, i) => {
			c.globalAlpha = line.alpha;
			c.drawImage(strip, 0, i, width, 1, view.gutter, line.y,
			    view.plot, line.height);
		});
		c.globalAlpha = 1;
		for (const line of lines)
			this.drawLabels(line);
	}

	fillStrip(lines, width) {
		const {view} = this;
		const image = new ImageData(width, lines.length);
		const pixels = new Uint32Array(image.data.buffer);
		const origin = view.origin;
		const step = view.perPixel;
		lines.forEach((line, i) => {
			const out = pixels.subarray(i * width, (i + 1) * width);
			line.labels = line.wide ? [] : null;
			rasterize(line.lane, origin, step, width, line.palette,
			    out, line.labels, TEXT_MIN * view.ratio);
		});
		const c = this.strip.getContext("2d");
		c.putImageData(image, 0, 0);
	}

	drawLabels({lane, labels, alpha, y, height, track}) {
		const {context: c, view, trace, colours} = this;
		if (!labels || !labels.length)
			return;
		this.clipPlot();
		c.font = colours.font("11px");
		c.fillStyle = colours.names[alpha < 1 ? "soft" : "on-slice"];
		for (const i of labels) {
			const x = Math.max(view.x(lane.start[i]), view.gutter);
			const width = Math.min(view.x(lane.end[i]),
			    view.width) - x - 10;
			const row = lane.row[i];
			const g = trace.rows.g[row];
			const text = track.kind === "history" ?
			    trace.stateText(row) :
			    trace.label(g) + "  " + trace.id(g);
			if (width > 16)
				c.fillText(fitText(c, text, width), x + 6,
				    y + height / 2 + 0.5);
		}
		c.restore();
	}

	/* ---- the other tracks */

	drawTrack(track) {
		const draw = {load: this.drawLoad, tasks: this.drawTasks,
			logs: this.drawLogs, p: this.drawMoments,
			history: this.drawHistory}[track.kind];
		if (!draw)
			return;
		this.clipPlot();
		draw.call(this, track, this.top(track));
		this.context.restore();
	}

	/* Busy Ps as an area, runnable goroutines as a line. */
	drawLoad(track, y) {
		const {context: c, view, tracks, colours} = this;
		const height = track.height - 8;
		const load = loadOf(tracks, view.origin, view.t1 - view.t0 +
		    view.perPixel, Math.ceil(view.plot / 2));
		const bottom = y + height + 4;
		const step = view.plot / load.busy.length;
		c.fillStyle = colours.names.area;
		c.beginPath();
		c.moveTo(view.gutter, bottom);
		load.busy.forEach((part, i) => {
			const at = bottom - part * height;
			c.lineTo(view.gutter + i * step, at);
			c.lineTo(view.gutter + (i + 1) * step, at);
		});
		c.lineTo(view.width, bottom);
		c.fill();
		const most = Math.max(1, ...load.queue);
		c.strokeStyle = colours.names.queue;
		c.lineWidth = 1.25;
		c.beginPath();
		load.queue.forEach((n, i) => {
			const at = bottom - n / most * (height - 4) - 0.5;
			c.lineTo(view.gutter + i * step, at);
			c.lineTo(view.gutter + (i + 1) * step, at);
		});
		c.stroke();
		this.loadKey(y, most);
	}

	loadKey(y, most) {
		const {context: c, view, colours, trace} = this;
		const text = `busy Ps, of ${trace.procs}`;
		const queue = `runnable, at most ${count(most)}`;
		c.font = colours.font("10px");
		const x = view.gutter + 8;
		const width = c.measureText(text).width;
		c.fillStyle = colours.names.ground;
		c.fillRect(x - 4, y + 4, width +
		    c.measureText(queue).width + 22, 14);
		c.fillStyle = colours.names["area-line"];
		c.fillText(text, x, y + 11.5);
		c.fillStyle = colours.names.queue;
		c.fillText(queue, x + width + 14, y + 11.5);
	}

	drawHistory(track, y) {
		const {context: c, view, trace, colours} = this;
		const {g, regions} = view.selected;
		c.font = colours.font("12px");
		c.fillStyle = colours.names.text;
		const site = trace.site(g);
		c.fillText(fitText(c, trace.label(g) + (site ? "  ·  " +
		    siteText(trace, g) : ""),
		    view.plot - 20), view.gutter + 6, y + 10);
		c.font = colours.font("10px");
		for (const region of regions) {
			this.drawBox(region.t, region.length < 0 ? trace.end :
			    region.t + region.length, y + 44, 13,
			    trace.strings.get(region.name));
		}
	}

	/* A thin frame with a name, if it is seen. */
	drawBox(t0, t1, y, height, text) {
		const {context: c, view, colours} = this;
		const x = Math.max(view.x(t0), view.gutter - 4);
		const width = Math.min(view.x(t1), view.width + 4) - x;
		if (x > view.width || width < 0 || t1 < view.t0)
			return;
		c.fillStyle = colours.names.mark;
		c.globalAlpha = 0.22;
		c.fillRect(x, y, Math.max(width, 1), height);
		c.globalAlpha = 1;
		c.fillRect(x, y, 1.5, height);
		c.fillStyle = colours.names.text;
		if (width > 24)
			c.fillText(fitText(c, text, width - 12),
			    Math.max(x, view.gutter) + 5, y + height / 2 + 0.5);
	}

	drawTasks(track, y) {
		const {context: c, view, trace, colours} = this;
		c.font = colours.font("10px");
		let drawn = -1;
		for (const task of track.tasks) {
			if (task.end < view.t0 || task.t > view.t1)
				continue;
			const right = view.x(task.end);
			if (right - drawn < 0.5)
				continue;
			drawn = right;
			this.drawBox(task.t, task.end, y + 2, 16,
			    trace.strings.get(task.name));
		}
	}

	drawLogs(track, y) {
		const {context: c, view, trace, colours} = this;
		const list = this.tracks.logs;
		c.font = colours.font("10px");
		this.eachTick(list, (x, i, room) => {
			c.fillStyle = colours.names.mark;
			c.fillRect(x, y + 2, 1.5, 13);
			c.fillStyle = colours.names.text;
			if (room > 24)
				c.fillText(fitText(c, trace.strings.get(
				    list.items[i].text), room - 6), x + 4,
				    y + 9);
		});
	}

	drawMoments(track, y) {
		const {context: c, colours} = this;
		const top = y + track.span.height + 2;
		c.fillStyle = colours.names.soft;
		this.eachTick(this.tracks.moments[track.p], (x) =>
		    c.fillRect(x, top, 1, 5));
		c.fillStyle = colours.names.mark;
		this.eachTick(this.tracks.marks[track.p], (x) =>
		    c.fillRect(x, top + 2, 1, 3));
	}

	/* Calls fn(x, index, room to the next) once for each pixel with one. */
	eachTick(list, fn) {
		const {view} = this;
		const step = (view.t1 - view.t0) / view.plot;
		let i = lowerBound(list.t, view.t0, 0, list.t.length);
		for (let n = 0; i < list.t.length && list.t[i] <= view.t1 &&
		    n < TICKS_MAX; n++) {
			const next = gallop(list.t, list.t[i] + step, i + 1,
			    list.t.length);
			const x = view.x(list.t[i]);
			fn(x, i, next < list.t.length ?
			    view.x(list.t[next]) - x : view.width - x);
			i = next;
		}
	}

	/* ---- over the lanes */

	drawWorld() {
		const {context: c, view, trace, colours} = this;
		this.clipPlot();
		c.fillStyle = colours.names.world;
		let drawn = -1;
		for (const {t, end} of trace.world) {
			if (end < view.t0 || t > view.t1)
				continue;
			const x = view.x(t);
			const width = Math.max(1, view.x(end) - x);
			if (x + width < drawn + 1)
				continue;
			drawn = x + width;
			c.globalAlpha = 0.18;
			c.fillRect(x, RULER, width, view.height);
			c.globalAlpha = 1;
			c.fillRect(x, RULER, width, 3);
		}
		c.restore();
	}

	/* Frames around the selected span and the one under the pointer. */
	drawFocus() {
		const {context: c, view, trace, colours} = this;
		this.clipPlot();
		const frame = (row, colour, width) => {
			if (row < 0)
				return;
			const place = this.tracks.place(trace.rows.p[row],
			    trace.rows.m[row]);
			const x = view.x(trace.rows.t[row]);
			const right = view.x(trace.rowEnd(row));
			if (!place || right < view.gutter || x > view.width ||
			    !onThread(trace.rows, row))
				return;
			c.strokeStyle = colour;
			c.lineWidth = width;
			c.strokeRect(x, place.y + 1, Math.max(right - x, 2),
			    place.height - 2);
		};
		if (view.hover && view.hover.row >= 0)
			frame(view.hover.row, colours.names.text, 1);
		if (view.selected)
			frame(view.selected.row, colours.names.accent, 2);
		c.restore();
	}

	drawGutter(shown) {
		const {context: c, view, colours} = this;
		c.fillStyle = colours.names.ground;
		c.fillRect(0, RULER, view.gutter, view.height);
		c.fillStyle = colours.names.line;
		c.fillRect(view.gutter - 1, RULER, 1, view.height);
		for (const track of shown) {
			const y = this.top(track);
			const title = track.kind === "title";
			c.font = colours.font(
			    (track.kind === "history" || title ? "600 " : "") +
			    "11px");
			c.textAlign = title ? "left" : "right";
			c.fillStyle = title ? colours.names.soft :
			    colours.names.text;
			c.fillText(title ? track.label : fitText(c, track.label,
			    view.gutter - 8), title ? 8 : view.gutter - 8,
			    y + (track.span ? 1.5 + track.span.height / 2 :
			    track.kind === "history" ? 30 : track.height / 2));
		}
		c.textAlign = "left";
	}

	/* Calls fn(x, t, step) for each mark of the ruler. */
	eachMark(fn) {
		const {view} = this;
		const span = view.t1 - view.t0;
		const step = niceStep(span / Math.max(2, view.plot / 110));
		const first = Math.ceil(view.t0 / step) * step;
		for (let t = first; t <= view.t1; t += step) {
			const x = Math.round(view.x(t));
			if (x >= view.gutter)
				fn(x, t, step);
		}
	}

	drawGrid() {
		const {context: c, view, colours} = this;
		c.fillStyle = colours.names.line;
		c.globalAlpha = 0.6;
		this.eachMark((x) => c.fillRect(x, RULER, 1, view.height));
		c.globalAlpha = 1;
	}

	drawRuler() {
		const {context: c, view, colours} = this;
		c.fillStyle = colours.names.ground;
		c.fillRect(0, 0, view.width, RULER);
		c.fillStyle = colours.names.line;
		c.fillRect(0, RULER - 1, view.width, 1);
		this.eachMark((x) => c.fillRect(x, RULER - 6, 1, 6));
		c.font = colours.font("11px");
		c.fillStyle = colours.names.soft;
		this.eachMark((x, t, step) =>
		    c.fillText(moment(Math.round(t), step), x + 4, 12));
	}
}

/* 1, 2 or 5 times a power of ten, at least `least` and 1. */
function niceStep(least) {
	const power = 10 ** Math.floor(Math.log10(Math.max(least, 1)));
	return power * [1, 2, 5, 10].find((k) => k * power >= least);
}

/* As much of a text as fits. */
function fitText(c, text, width) {
	if (text.length * 9 < width || c.measureText(text).width <= width)
		return text;
	let n = Math.min(text.length, Math.floor(width / 4));
	while (n > 0 && c.measureText(text.slice(0, n) + "…").width > width)
		n = Math.floor(n * 0.85);
	return n > 0 ? text.slice(0, n) + "…" : "";
}

/* For n parts of the time: the part of Ps that is busy, the longest queue. */
function loadOf(tracks, t0, span, n) {
	const step = span / n;
	const busy = new Float64Array(n);
	const queue = new Float64Array(n);
	for (const lane of tracks.procs) {
		let i = lane.after(t0);
		for (let k = 0; k < n; k++) {
			const t = t0 + k * step;
			i = gallop(lane.end, t, i, lane.n);
			if (i < lane.n)
				busy[k] += lane.busyFrom(i, t, t + step);
		}
	}
	const {rows} = tracks.trace;
	let lo = lowerBound(rows.t, t0, 0, rows.n);
	for (let k = 0; k < n; k++) {
		const hi = gallop(rows.t, t0 + (k + 1) * step, lo, rows.n);
		busy[k] /= step * Math.max(tracks.procs.length, 1);
		queue[k] = tracks.queue.peak(lo, hi);
		lo = hi;
	}
	return {busy, queue};
}
