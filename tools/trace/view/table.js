/* SPDX-License-Identifier: MIT */
/*
 * A table of any length: only the rows that are seen are elements. A column is
 *
 *	{title, width, num, text(i) or node(i), key(i) or an array of them}
 *
 * where i is an item, and key is what it is sorted by.
 */

const ROW = 24;
const HEIGHT_MAX = 12e6;	/* browsers limit the height of an element */

/* Sorts items by a key of each, in either order; ties by item. */
function sortBy(items, keys, down) {
	const n = items.length;
	const bits = new Uint32Array(new Float64Array(n).buffer);
	const values = new Float64Array(bits.buffer);
	for (let i = 0; i < n; i++)
		values[i] = keys[items[i]];
	/* Bits of doubles in the order of their values. */
	for (let i = 0; i < n; i++) {
		const sign = bits[2 * i + 1] >>> 31;
		bits[2 * i] = sign ? ~bits[2 * i] : bits[2 * i];
		bits[2 * i + 1] = sign ? ~bits[2 * i + 1] :
		    bits[2 * i + 1] | 0x80000000;
	}
	let order = Uint32Array.from(items, (_, i) => i);
	let other = new Uint32Array(n);
	for (let pass = 0; pass < 4; pass++) {
		radixPass(bits, pass, order, other);
		[order, other] = [other, order];
	}
	const sorted = new Int32Array(n);
	for (let i = 0; i < n; i++)
		sorted[down ? n - 1 - i : i] = items[order[i]];
	return sorted;
}

/* By 16 bits, the lowest first. */
function radixPass(bits, pass, from, to) {
	const starts = new Uint32Array(65537);
	const digit = (i) => bits[2 * i + (pass >> 1)] >>>
	    (pass & 1 ? 16 : 0) & 0xffff;
	for (let i = 0; i < from.length; i++)
		starts[digit(from[i]) + 1]++;
	for (let i = 0; i < 65536; i++)
		starts[i + 1] += starts[i];
	for (let i = 0; i < from.length; i++)
		to[starts[digit(from[i])]++] = from[i];
}

class Table {
	constructor(columns, actions) {
		this.columns = columns;
		this.actions = actions;	/* click(i), chosen(i) */
		this.items = new Int32Array(0);
		this.order = this.items;
		this.sort = {column: -1, down: true};
		this.cursor = -1;
		this.head = el("div", {className: "thead", role: "row"});
		this.space = el("div");
		this.scroller = el("div", {className: "scroll", tabIndex: 0,
			role: "grid"}, this.head, this.space);
		this.scroller.addEventListener("scroll", () => this.draw());
		this.scroller.addEventListener("keydown", (e) => this.key(e));
		this.sized = new ResizeObserver(() => this.draw());
		this.sized.observe(this.scroller);
		this.rows = [];
		this.drawHead();
	}

	get node() {
		return this.scroller;
	}

	drawHead() {
		this.head.replaceChildren(...this.columns.map((column, i) => {
			const button = el("button", {title: column.title,
				className: column.num ? "num" : "",
				style: `width:${column.width}px`,
				onclick: () => this.sortOn(i)},
			    column.title + (i !== this.sort.column ? "" :
				this.sort.down ? " ↓" : " ↑"));
			if (i === this.sort.column)
				button.setAttribute("aria-sort",
				    this.sort.down ? "descending" :
				    "ascending");
			return button;
		}));
	}

	setItems(items) {
		this.items = items;
		this.cursor = -1;
		this.scroller.scrollTop = 0;
		this.resort();
	}

	/* Numbers from the largest on, the rest from A on. */
	sortOn(i, down) {
		const {sort, columns} = this;
		sort.down = down !== undefined ? down : sort.column === i ?
		    !sort.down : Boolean(columns[i].num);
		sort.column = i;
		this.resort();
	}

	resort() {
		const column = this.columns[this.sort.column];
		this.order = this.items;
		if (column && this.items.length) {
			let keys = column.key;
			if (typeof keys === "function") {
				const last = this.items.reduce(
				    (a, b) => Math.max(a, b), 0);
				keys = new Float64Array(last + 1);
				for (const item of this.items)
					keys[item] = column.key(item);
			}
			this.order = sortBy(this.items, keys, this.sort.down);
		}
		this.drawHead();
		const height = Math.min(this.order.length * ROW, HEIGHT_MAX);
		this.space.style.height = height + "px";
		this.draw();
	}

	/* The first row that is seen, and how far it is above the top. */
	first() {
		const seen = this.scroller.clientHeight - 28;
		const real = this.order.length * ROW;
		const height = Math.min(real, HEIGHT_MAX);
		const most = Math.max(1, height - seen);
		const top = this.scroller.scrollTop / most * (real - seen);
		return real <= HEIGHT_MAX ? this.scroller.scrollTop / ROW :
		    clamp(top / ROW, 0, this.order.length);
	}

	draw() {
		const first = this.first();
		const from = Math.max(0, Math.floor(first));
		const n = Math.min(this.order.length - from,
		    Math.ceil(this.scroller.clientHeight / ROW) + 1);
		const top = this.scroller.scrollTop - (first - from) * ROW;
		while (this.rows.length < n)
			this.rows.push(this.newRow());
		this.rows.forEach((row, k) => {
			row.hidden = k >= n;
			if (k < n)
				this.fill(row, from + k, top + k * ROW);
		});
		this.scroller.setAttribute("aria-rowcount", this.order.length);
	}

	newRow() {
		const row = el("div", {className: "trow", role: "row"},
		    ...this.columns.map((column) => el("div", {role: "gridcell",
			className: "cell" + (column.num ? " num" : ""),
			style: `width:${column.width}px`})));
		row.addEventListener("click", () => this.choose(row.index));
		this.scroller.append(row);
		return row;
	}

	fill(row, index, y) {
		const item = this.order[index];
		row.index = index;
		row.style.top = y + 28 + "px";
		row.classList.toggle("chosen", this.actions.chosen ?
		    this.actions.chosen(item) : index === this.cursor);
		this.columns.forEach((column, k) => {
			const cell = row.children[k];
			if (column.node) {
				cell.replaceChildren(...column.node(item));
			} else {
				cell.textContent = column.text(item);
			}
			cell.title = column.num ? "" : cell.textContent;
		});
	}

	choose(index) {
		this.cursor = index;
		this.actions.click(this.order[index]);
		this.draw();
	}

	key(e) {
		const page = Math.floor(this.scroller.clientHeight / ROW) - 2;
		const by = {ArrowDown: 1, ArrowUp: -1, PageDown: page,
			PageUp: -page, Home: -Infinity, End: Infinity}[e.key];
		if (by === undefined || !this.order.length)
			return;
		e.preventDefault();
		const index = clamp(this.cursor + by, 0, this.order.length - 1);
		this.show(index);
		this.choose(index);
	}

	show(index) {
		const seen = this.scroller.clientHeight - 28;
		const first = this.first();
		const rows = seen / ROW;
		if (index >= first && index < first + rows - 1)
			return;
		const real = this.order.length * ROW;
		const height = Math.min(real, HEIGHT_MAX);
		const top = index * ROW - (index < first ? 0 : seen - ROW);
		this.scroller.scrollTop = real <= HEIGHT_MAX ? top :
		    top / (real - seen) * (height - seen);
	}
}
