/* SPDX-License-Identifier: MIT */
/*
 * Reads the columns that weft-trace has put into the page.
 *
 * A column is an element of type "weft/column", with data-name and data-coding
 * (raw or deflate), whose text is base64. Numbers are varints: 7 bits a byte,
 * lowest first, the top bit says that more follow. Times are nanoseconds
 * since the beginning of the trace, most of them as the difference to the one
 * before. tools/trace/view.c writes them, and view_rows.c the rows:
 *
 * A row is a change of one goroutine's state, and rows are in order of time:
 *
 *	rows.t	difference to the time of the row before
 *	rows.k	a byte: state | cause << 3
 *	rows.p	P + 1, or 0: where the row's event was written
 *	rows.m	M + 1, or 0: the same as in the last row with this P
 *	rows.g	0: a new goroutine, 1: the one whose row was the last to be
 *		RUNNING or CALL on this P, else zigzag difference to the
 *		goroutine of the row before, + 2
 *	rows.a	reason, if WAITING and not woken; else who caused it: 0: a
 *		thread, 1: the goroutine that runs on this P, else its
 *		number + 2
 *	rows.o	if WAITING only: object that it waits on, or 0
 *	rows.s	stack, or 0
 */

const STATE = {NONE: 0, RUNNABLE: 1, RUNNING: 2, CALL: 3, WAITING: 4,
	DETACHED: 5, PAUSED: 6, DEAD: 7};
const CAUSE = {NONE: 0, CREATE: 1, CREATE_WAITING: 2, STATUS: 3, START: 4,
	BLOCK: 5, YIELD: 6, PREEMPTED: 7, NO_P: 8, END: 9, UNBLOCK: 10,
	CALL_BEGIN: 11, CALL_END: 12, PAUSE: 13, RESUME: 14, TAKEN_CALL: 15,
	TAKEN_BLOCKED: 16, TAKEN_RUNNING: 17, LOST: 18, P_START: 19};

/* ---- bytes */

const BASE64 = (() => {
	const digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz" +
	    "0123456789+/";
	const table = new Uint8Array(128);
	for (let i = 0; i < 64; i++)
		table[digits.charCodeAt(i)] = i;
	return table;
})();

/* Text without white space; what does not fill a byte is left out. */
function base64(text) {
	let length = text.length;
	while (length > 0 && text.charCodeAt(length - 1) === 61)
		length--;
	const bytes = new Uint8Array((length * 3) >>> 2);
	let at = 0;
	for (let i = 0; i < length; i += 4) {
		const word = BASE64[text.charCodeAt(i) & 127] << 18 |
		    BASE64[text.charCodeAt(i + 1) & 127] << 12 |
		    BASE64[text.charCodeAt(i + 2) & 127] << 6 |
		    BASE64[text.charCodeAt(i + 3) & 127];
		bytes[at++] = word >>> 16;
		bytes[at++] = word >>> 8;
		bytes[at++] = word;
	}
	return bytes;
}

async function inflate(bytes) {
	const stream = new Blob([bytes]).stream()
	    .pipeThrough(new DecompressionStream("deflate"));
	return new Uint8Array(await new Response(stream).arrayBuffer());
}

/* All columns by name; their elements are removed to free the text. */
async function readColumns() {
	const columns = {};
	const work = [];
	for (const node of document.querySelectorAll(
	    'script[type="weft/column"]')) {
		const bytes = base64(node.textContent.trim());
		const name = node.dataset.name;
		node.remove();
		work.push(node.dataset.coding === "deflate" ?
		    inflate(bytes).then((out) => columns[name] = out) :
		    columns[name] = bytes);
	}
	await Promise.all(work);
	return columns;
}

/* ---- numbers */

class Varints {
	constructor(bytes) {
		this.bytes = bytes || new Uint8Array(0);
		this.at = 0;
	}

	get more() {
		return this.at < this.bytes.length;
	}

	next() {
		const bytes = this.bytes;
		let byte = bytes[this.at++];
		if (byte < 128)
			return byte;
		let value = byte & 127;
		let scale = 128;
		do {
			byte = bytes[this.at++];
			value += (byte & 127) * scale;
			scale *= 128;
		} while (byte >= 128);
		return value;
	}
}

/* Calls row(next) until the column is at its end. */
function readRecords(bytes, row) {
	const numbers = new Varints(bytes);
	const next = () => numbers.next();
	const records = [];
	while (numbers.more)
		records.push(row(next));
	return records;
}

/* 64-bit differences, little-endian, as two halves of the sums. */
function readWords(bytes) {
	const n = bytes ? bytes.length >>> 3 : 0;
	const half = new Uint32Array(bytes ? bytes.slice(0, n * 8).buffer : 0);
	const words = {lo: new Uint32Array(n), hi: new Uint32Array(n), n};
	let lo = 0;
	let hi = 0;
	for (let i = 0; i < n; i++) {
		const sum = lo + half[2 * i];
		hi = (hi + half[2 * i + 1] + (sum > 0xffffffff ? 1 : 0)) >>> 0;
		lo = sum >>> 0;
		words.lo[i] = lo;
		words.hi[i] = hi;
	}
	return words;
}

function wordText(words, i) {
	return words.hi[i] === 0 ? String(words.lo[i]) :
	    String(BigInt(words.hi[i]) << 32n | BigInt(words.lo[i]));
}

function wordHex(words, i) {
	return "0x" + (BigInt(words.hi[i]) << 32n | BigInt(words.lo[i]))
	    .toString(16);
}

/* ---- texts */

/* Strings of any bytes, decoded when they are needed. */
class Strings {
	constructor(lengths, bytes) {
		const numbers = new Varints(lengths);
		this.bytes = bytes || new Uint8Array(0);
		this.start = [0];
		this.cache = new Map();
		this.decoder = new TextDecoder();
		for (let at = 0; numbers.more; )
			this.start.push(at += numbers.next());
	}

	get length() {
		return this.start.length - 1;
	}

	get(i) {
		let text = this.cache.get(i);
		if (text === undefined && i < this.length) {
			text = visible(this.decoder.decode(this.bytes.subarray(
			    this.start[i], this.start[i + 1])));
			this.cache.set(i, text);
		}
		return text || "";
	}
}

/* ---- rows */

function newRows(n) {
	return {n, t: new Float64Array(n), state: new Uint8Array(n),
		cause: new Uint8Array(n), p: new Int16Array(n),
		m: new Int32Array(n), g: new Int32Array(n),
		by: new Int32Array(n), reason: new Uint16Array(n),
		object: new Int32Array(n), stack: new Int32Array(n),
		next: new Int32Array(n).fill(-1),
		prev: new Int32Array(n).fill(-1)};
}

const unzigzag = (x) => x % 2 ? -(x + 1) / 2 : x / 2;

/* What is known of each P, -1 for none, while rows are read. */
class Holders {
	constructor() {
		this.m = [];
		this.g = [];
	}

	resolveM(p, code) {
		if (code === 0)
			return this.m[p + 1] || 0;
		return this.m[p + 1] = code - 1;
	}

	running(p) {
		const g = this.g[p + 1];
		return g === undefined ? -1 : g;
	}
}

/* The columns as arrays of the same length; see above for their coding. */
function readRows(columns) {
	const rows = newRows(columns["rows.k"] ? columns["rows.k"].length : 0);
	const at = (name) => new Varints(columns["rows." + name]);
	const [ts, ps, ms, gs, as, os, ss] =
	    ["t", "p", "m", "g", "a", "o", "s"].map(at);
	const holders = new Holders();
	let t = 0;
	let g = 0;
	let goroutines = 0;
	for (let i = 0; i < rows.n; i++) {
		const kind = columns["rows.k"][i];
		const state = kind & 7;
		const p = ps.next() - 1;
		rows.t[i] = t += ts.next();
		rows.state[i] = state;
		rows.cause[i] = kind >>> 3;
		rows.p[i] = p;
		rows.m[i] = holders.resolveM(p, ms.next());
		const code = gs.next();
		g = code === 0 ? goroutines++ : code === 1 ?
		    holders.running(p) : g + unzigzag(code - 2);
		rows.g[i] = g;
		const a = as.next();
		rows.by[i] = -1;
		if (state === STATE.WAITING)
			rows.reason[i] = a;
		else
			rows.by[i] = a === 0 ? -1 : a === 1 ?
			    holders.running(p) : a - 2;
		if (state === STATE.WAITING)
			rows.object[i] = os.next();
		rows.stack[i] = ss.next();
		if (state === STATE.RUNNING || state === STATE.CALL)
			holders.g[p + 1] = g;
	}
	return rows;
}
