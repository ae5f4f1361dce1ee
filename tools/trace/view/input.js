/* SPDX-License-Identifier: MIT */
/*
 * The pointer, the wheel, fingers and keys on the timeline. Drag moves; the
 * wheel zooms where the pointer is; a drag on the ruler, or with Shift, zooms
 * to a range; two fingers zoom and move. Keys that are held move smoothly.
 */

const CLICK_SLOP = 4;		/* pixels that a click may move */
const KEYS_HELD = {w: [0, -1], s: [0, 1], a: [-1, 0], d: [1, 0],
	ArrowLeft: [-1, 0], ArrowRight: [1, 0], "+": [0, -1], "=": [0, -1],
	"-": [0, 1]};

class Input {
	constructor(canvas, view, tracks, actions) {
		Object.assign(this, {canvas, view, tracks, actions});
		this.pointers = new Map();
		this.held = new Set();
		this.range = null;
		const on = (name, fn, options) =>
		    canvas.addEventListener(name, fn.bind(this), options);
		on("pointerdown", this.down);
		on("pointermove", this.move);
		on("pointerup", this.up);
		on("pointercancel", this.up);
		on("pointerleave", () => this.point(null));
		on("wheel", this.wheel, {passive: false});
		on("dblclick", this.twice);
		window.addEventListener("keydown", (e) => this.key(e));
		window.addEventListener("keyup", (e) =>
		    this.held.delete(keyName(e)));
		window.addEventListener("blur", () => this.held.clear());
	}

	/* ---- pointers */

	down(e) {
		if (e.button > 0)
			return;
		this.canvas.setPointerCapture(e.pointerId);
		this.pointers.set(e.pointerId, {x: e.offsetX, y: e.offsetY});
		this.start = {x: e.offsetX, y: e.offsetY, moved: false,
			ranged: e.shiftKey || e.offsetY < RULER};
		this.view.target = null;
		this.pinch = null;
	}

	move(e) {
		const pointer = this.pointers.get(e.pointerId);
		if (!pointer)
			return this.point(e);
		const dx = e.offsetX - pointer.x;
		const dy = e.offsetY - pointer.y;
		pointer.x = e.offsetX;
		pointer.y = e.offsetY;
		if (Math.hypot(e.offsetX - this.start.x,
		    e.offsetY - this.start.y) > CLICK_SLOP)
			this.start.moved = true;
		if (this.pointers.size === 2)
			this.fingers();
		else if (this.start.ranged)
			this.stretch(e.offsetX);
		else if (this.start.moved)
			this.drag(dx, dy);
	}

	drag(dx, dy) {
		const {view} = this;
		this.canvas.classList.add("dragging");
		this.point(null);
		view.pan(-dx / view.plot);
		view.scroll -= dy;
		view.change();
	}

	stretch(x) {
		const a = this.view.t(this.start.x);
		const b = this.view.t(x);
		this.range = [Math.min(a, b), Math.max(a, b)];
		this.view.change();
	}

	/* Keeps the moments under both fingers where they are. */
	fingers() {
		const {view} = this;
		const [a, b] = [...this.pointers.values()];
		const now = {x: (a.x + b.x) / 2, y: (a.y + b.y) / 2,
			apart: Math.max(20, Math.abs(a.x - b.x))};
		const was = this.pinch;
		this.pinch = now;
		this.start.moved = true;
		if (!was)
			return;
		view.zoom(was.apart / now.apart, was.x);
		view.pan((was.x - now.x) / view.plot);
		view.scroll -= now.y - was.y;
	}

	up(e) {
		this.pointers.delete(e.pointerId);
		this.pinch = null;
		this.canvas.classList.remove("dragging");
		if (this.pointers.size || !this.start)
			return;
		const {moved} = this.start;
		this.start.moved = true;
		if (this.range) {
			const [a, b] = this.range;
			this.range = null;
			if (moved)
				this.view.setRange(a, b, true);
			this.view.change();
		}
		if (!moved && e.type === "pointerup")
			this.actions.click(this.hit(e), e);
	}

	/* What is under the pointer; see hit.js. */
	hit(e) {
		return hitTest(this.view, this.tracks, e.offsetX, e.offsetY);
	}

	point(e) {
		const hit = e && e.pointerType !== "touch" ? this.hit(e) : null;
		this.canvas.classList.toggle("pointing", Boolean(hit));
		this.actions.hover(hit, e);
	}

	twice(e) {
		const hit = this.hit(e);
		if (hit && hit.t1 > hit.t0)
			this.view.reveal(hit.t0, hit.t1);
		else
			this.view.zoom(0.4, e.offsetX, true);
	}

	wheel(e) {
		const {view} = this;
		const unit = e.deltaMode === 1 ? 16 : 1;
		e.preventDefault();
		if (e.offsetX < view.gutter && !e.ctrlKey) {
			view.scroll += e.deltaY * unit;
			view.change();
		} else if (e.shiftKey ||
		    Math.abs(e.deltaX) > Math.abs(e.deltaY)) {
			view.pan((e.deltaX || e.deltaY) * unit / view.plot);
		} else {
			view.zoom(Math.exp(clamp(e.deltaY * unit, -300, 300) *
			    (e.ctrlKey ? 0.01 : 0.002)), e.offsetX);
		}
	}

	/* ---- keys */

	key(e) {
		const name = keyName(e);
		if (e.ctrlKey || e.metaKey || e.altKey ||
		    document.querySelector("dialog[open]"))
			return;
		if (/^(INPUT|SELECT|TEXTAREA)$/.test(e.target.tagName))
			return;
		const inTable = e.target.closest && e.target.closest(".scroll");
		if (inTable && /^(Arrow|Page|Home|End|Enter)/.test(name))
			return;
		if (KEYS_HELD[name]) {
			e.preventDefault();
			if (!e.repeat) {
				this.held.add(name);
				this.glide();
			}
		} else if (this.actions.key(name, e)) {
			e.preventDefault();
		}
	}

	/* A tap moves by a fixed step; holding goes on from there. */
	glide() {
		if (this.gliding)
			return;
		this.gliding = true;
		let last = performance.now() - 16;
		let speed = 0.6;
		const step = (now) => {
			const {view} = this;
			const dt = clamp((now - last) / 1000, 0.004, 0.05);
			last = now;
			speed = Math.min(1.8, speed + dt);
			for (const name of this.held) {
				const [dx, zoom] = KEYS_HELD[name];
				if (dx)
					view.pan(dx * speed * dt);
				if (zoom)
					view.zoom(Math.exp(zoom * 2.4 * speed *
					    dt), this.pointedX);
			}
			if (this.held.size)
				requestAnimationFrame(step);
			else
				this.gliding = false;
		};
		step(last + 16);
	}
}

const keyName = (e) => e.key.length === 1 ? e.key.toLowerCase() : e.key;
