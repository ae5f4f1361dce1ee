/* SPDX-License-Identifier: MIT */
/*
 * The whole trace in one line: busy Ps, stopped worlds, matches of a search,
 * and which part is seen. A drag outside of that part selects another one; a
 * drag of it moves it. Drawn once into a picture, and copied for each frame.
 */

class Minimap {
	constructor(canvas, view, tracks, colours) {
		Object.assign(this, {canvas, view, tracks, colours});
		this.context = canvas.getContext("2d");
		this.picture = document.createElement("canvas");
		this.drag = null;
		canvas.addEventListener("pointerdown", (e) => this.down(e));
		canvas.addEventListener("pointermove", (e) => this.move(e));
		canvas.addEventListener("pointerup", (e) => this.up(e));
		canvas.addEventListener("pointercancel",
		    () => this.drag = null);
	}

	resize() {
		const box = this.canvas.getBoundingClientRect();
		const {ratio} = this.view;
		this.width = box.width;
		this.height = box.height;
		for (const canvas of [this.canvas, this.picture]) {
			canvas.width = Math.round(box.width * ratio);
			canvas.height = Math.round(box.height * ratio);
		}
		this.refresh();
	}

	x(t) {
		return t / this.view.trace.end * this.width;
	}

	t(x) {
		return x / this.width * this.view.trace.end;
	}

	/* After a change of what the picture shows. */
	refresh() {
		const c = this.picture.getContext("2d");
		const {tracks, colours, view, width, height} = this;
		c.setTransform(view.ratio, 0, 0, view.ratio, 0, 0);
		c.fillStyle = colours.names.raised || colours.names.lane;
		c.fillRect(0, 0, width, height);
		const n = Math.max(1, Math.floor(width));
		const load = loadOf(tracks, 0, view.trace.end, n);
		const high = height - 6;
		c.fillStyle = colours.names["area-line"];
		c.globalAlpha = 0.55;
		load.busy.forEach((part, i) => c.fillRect(i * width / n,
		    height - part * high, width / n + 0.3, part * high));
		c.globalAlpha = 1;
		this.marks(c);
	}

	marks(c) {
		const {colours, view, height} = this;
		const {trace} = view;
		c.fillStyle = colours.names.world;
		for (const {t, end} of trace.world)
			c.fillRect(this.x(t), 0,
			    Math.max(1, this.x(end) - this.x(t)), height);
		if (!view.matches)
			return;
		c.fillStyle = colours.names.match;
		let drawn = -2;
		for (const row of view.matches.rows) {
			const x = this.x(trace.rows.t[row]);
			if (x - drawn >= 1)
				c.fillRect(drawn = x, 0, 1.5, 7);
		}
	}

	draw() {
		const {context: c, view, colours, width, height} = this;
		c.setTransform(1, 0, 0, 1, 0, 0);
		c.drawImage(this.picture, 0, 0);
		c.setTransform(view.ratio, 0, 0, view.ratio, 0, 0);
		const x0 = this.x(view.t0);
		const x1 = Math.max(this.x(view.t1), x0 + 2);
		c.fillStyle = colours.names.ground;
		c.globalAlpha = 0.62;
		c.fillRect(0, 0, x0, height);
		c.fillRect(x1, 0, width - x1, height);
		c.globalAlpha = 1;
		c.strokeStyle = colours.names.accent;
		c.lineWidth = 1.5;
		c.strokeRect(x0 + 0.5, 0.75, Math.max(1, x1 - x0 - 1),
		    height - 1.5);
		if (this.drag && this.drag.kind === "range") {
			c.fillStyle = colours.names.accent;
			c.globalAlpha = 0.25;
			c.fillRect(this.drag.x, 0, this.drag.to - this.drag.x,
			    height);
			c.globalAlpha = 1;
		}
	}

	down(e) {
		const {view} = this;
		const x = e.offsetX;
		const inside = x >= this.x(view.t0) - 4 &&
		    x <= this.x(view.t1) + 4;
		const narrow = view.t1 - view.t0 < 0.97 * view.trace.end;
		this.drag = {x, to: x, kind: inside && narrow ? "move" :
			"range", t0: view.t0, t1: view.t1};
		this.canvas.setPointerCapture(e.pointerId);
	}

	move(e) {
		const {drag, view} = this;
		if (!drag)
			return;
		drag.to = e.offsetX;
		if (drag.kind === "move") {
			const by = this.t(e.offsetX - drag.x);
			view.setRange(drag.t0 + by, drag.t1 + by);
		}
		view.change();
	}

	/* A click centres what is seen. */
	up() {
		const {drag, view} = this;
		this.drag = null;
		if (!drag || drag.kind === "move" && drag.to !== drag.x)
			return;
		const a = this.t(Math.min(drag.x, drag.to));
		const b = this.t(Math.max(drag.x, drag.to));
		const half = (view.t1 - view.t0) / 2;
		if (Math.abs(drag.to - drag.x) >= 4)
			view.setRange(a, b, true);
		else
			view.setRange(a - half, a + half, true);
	}
}
