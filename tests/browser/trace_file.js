/* SPDX-License-Identifier: MIT */
/*
 * Writes trace files (src/trace/trace_format.h) of what a test makes up: a
 * program on some Ps, whose goroutines do a bit of everything, and files that
 * are empty, cut, or full of names that are no names.
 */
"use strict";

const fs = require("fs");

const TR = {};
["NONE", "TIME", "HIGH", "P_START", "P_STOP", "P_TAKEN", "STEAL", "PROCS",
	"CREATE", "CREATE_WAITING", "SITE", "NAME", "START", "BLOCK", "YIELD",
	"END", "UNBLOCK", "CALL_BEGIN", "CALL_END", "PAUSE", "RESUME", "STATUS",
	"THREAD", "TIMERS", "NETPOLL", "WORLD_STOP", "WORLD_START",
	"TASK_BEGIN", "TASK_END", "REGION_BEGIN", "REGION_END", "LOG", "STACK",
	"SAMPLE"].forEach((name, i) => TR[name] = i);

const BLOCK = {EVENTS: 1, CLOCK: 2, SITE: 3, MODULE: 4, REASONS: 5, END: 6};
const SHARED = 0xffffff;
const BLOCK_WORDS = 8000;

const bytesOf = (text) => typeof text === "string" ? Buffer.from(text) : text;

function padded(bytes) {
	return Buffer.concat([bytes, Buffer.alloc((8 - bytes.length % 8) % 8)]);
}

/* The events of one ring, cut into blocks. */
class Ring {
	constructor(file, id) {
		Object.assign(this, {file, id});
		this.number = 0;
		this.m = 0;
		this.g = 0;
		this.begin();
	}

	begin() {
		this.words = [];
		this.start = this.now = this.file.now;
		this.startM = this.m;
		this.startG = this.g;
	}

	/* Words are numbers or BigInts; text follows them. */
	put(type, arg, words, text) {
		if (this.words.length > BLOCK_WORDS)
			this.flush();
		const step = this.file.now - this.now;
		const bytes = text === undefined ? null : bytesOf(text);
		this.now = this.file.now;
		if (step >= 2 ** 26) {
			this.words.push(BigInt(TR.TIME), BigInt(this.now));
		}
		this.words.push(BigInt(type) |
		    BigInt(step >= 2 ** 26 ? 0 : step) << 6n |
		    BigInt(bytes ? bytes.length * 65536 : arg) << 32n);
		for (const word of words || [])
			this.words.push(BigInt.asUintN(64, BigInt(word)));
		for (let i = 0; bytes && i < bytes.length; i += 8)
			this.words.push(padded(bytes.subarray(i, i + 8))
			    .readBigUInt64LE(0));
	}

	flush() {
		if (!this.words.length)
			return;
		const payload = Buffer.alloc(this.words.length * 8);
		this.words.forEach((word, i) =>
		    payload.writeBigUInt64LE(word, i * 8));
		this.file.block(BLOCK.EVENTS, payload, {ring: this.id,
			number: this.number++, start: this.start,
			m: this.startM, g: this.startG});
		this.begin();
	}
}

class TraceFile {
	constructor(procs) {
		this.parts = [];
		this.procs = procs;
		this.now = 1000;		/* cycles, which are nanoseconds */
		const head = Buffer.alloc(72);
		head.write("weft trace 1\n", 0, "latin1");
		head.writeBigUInt64LE(1000n, 16);
		head.writeBigInt64LE(1000n, 24);
		head.writeBigInt64LE(1700000000000000000n, 32);
		head.writeBigUInt64LE(1000000000n, 40);
		head.writeUInt32LE(4711, 48);
		head.writeUInt32LE(procs, 52);
		this.parts.push(head);
		this.rings = new Map();
	}

	ring(id) {
		if (!this.rings.has(id))
			this.rings.set(id, new Ring(this, id));
		return this.rings.get(id);
	}

	block(type, payload, more) {
		const {ring, number, start, m, g} = {ring: 0, number: 0,
			start: 0, m: 0, g: 0, ...more};
		const head = Buffer.alloc(40);
		head.writeUInt32LE(type, 0);
		head.writeUInt32LE(payload.length, 4);
		head.writeUInt32LE(ring, 8);
		head.writeUInt32LE(number, 12);
		head.writeBigUInt64LE(BigInt(start), 16);
		head.writeUInt32LE(m, 24);
		head.writeBigUInt64LE(BigInt(g), 32);
		this.parts.push(head, payload);
	}

	site(address, fn, file, line) {
		const head = Buffer.alloc(16);
		head.writeBigUInt64LE(BigInt(address), 0);
		head.writeInt32LE(line, 8);
		this.block(BLOCK.SITE, padded(Buffer.concat([head, bytesOf(fn),
			Buffer.alloc(1), bytesOf(file), Buffer.alloc(1)])));
	}

	reasons(list) {
		this.block(BLOCK.REASONS, padded(Buffer.concat(list.flatMap(
		    (reason) => [bytesOf(reason), Buffer.alloc(1)]))));
	}

	end(path) {
		for (const ring of this.rings.values())
			ring.flush();
		const clock = Buffer.alloc(16);
		clock.writeBigUInt64LE(BigInt(this.now), 0);
		clock.writeBigInt64LE(BigInt(this.now), 8);
		this.block(BLOCK.CLOCK, clock);
		this.block(BLOCK.END, Buffer.alloc(0));
		fs.writeFileSync(path, Buffer.concat(this.parts));
	}
}

/* ---- a program that is made up */

const REASONS = ["chan send", "chan receive", "select", "sleep", "mutex lock",
	"network"];
const SITES = [["serve", "server.c", 40], ["worker", "pool.c", 17],
	["ticker", "clock.c", 9], ["flusher", "log.c", 81]];

/* Numbers that are the same each time. */
function random(seed) {
	let s = seed >>> 0 || 1;
	return (n) => {
		s ^= s << 13;
		s >>>= 0;
		s ^= s >>> 17;
		s ^= s << 5;
		s >>>= 0;
		return s % n;
	};
}

class Program {
	constructor(file, seed, names) {
		Object.assign(this, {file, names});
		this.random = random(seed);
		this.ready = [];
		this.waiting = [];
		this.nextId = 1;
		this.running = new Array(file.procs).fill(0);
		for (let p = 0; p < file.procs; p++) {
			file.ring(p).put(TR.P_START, p + 1, [0]);
			file.ring(p).m = p + 1;
		}
	}

	/* What runs on a P; a block that begins there says so. */
	setRunning(p, g) {
		this.running[p] = g;
		this.file.ring(p).g = g;
	}

	create(p) {
		const ring = this.file.ring(p);
		const id = this.nextId++;
		ring.put(TR.SITE, 0, [0x1000 + 16 * (id % SITES.length)]);
		ring.put(TR.CREATE, id);
		const name = this.names[id % this.names.length];
		if (name && name.length)
			this.name(ring, id, bytesOf(name));
		this.ready.push(id);
	}

	name(ring, id, name) {
		const bytes = Buffer.alloc(24);
		name.copy(bytes, 0, 0, 24);
		ring.put(TR.NAME, id, [0, 8, 16].map((at) =>
		    bytes.readBigUInt64LE(at)));
	}

	/* One thing on one P. */
	step(p) {
		const {random, file} = this;
		const ring = file.ring(p);
		const g = this.running[p];
		file.now += 20 + random(400);
		if (!g) {
			if (!this.ready.length)
				return this.wake(p);
			const next = this.ready.shift();
			ring.put(TR.START, next);
			return this.setRunning(p, next);
		}
		const what = random(10);
		if (what < 3)
			this.wake(p);
		else if (what < 5 && this.nextId < 400)
			this.create(p);
		else if (what < 8)
			this.block(p, g);
		else if (what < 9 && this.nextId > 60)
			this.finish(p);
		else
			this.yield(p, g);
	}

	wake(p) {
		const {waiting} = this;
		if (!waiting.length)
			return;
		const [g] = waiting.splice(this.random(waiting.length), 1);
		this.file.ring(p).put(TR.UNBLOCK, g);
		this.ready.push(g);
	}

	block(p, g) {
		const {random} = this;
		this.file.ring(p).put(TR.BLOCK, random(REASONS.length),
		    [0x7f0000000000 + 64 * random(50)]);
		if (random(4) === 0)
			this.file.ring(p).put(TR.STACK, 3, [0x400100 + random(9),
				0x400200, 0x400300]);
		this.waiting.push(g);
		this.setRunning(p, 0);
	}

	yield(p, g) {
		this.file.ring(p).put(TR.YIELD, this.random(2));
		this.ready.push(g);
		this.setRunning(p, 0);
	}

	finish(p) {
		this.file.ring(p).put(TR.END, 0);
		this.setRunning(p, 0);
		if (this.nextId < 100000)
			this.create(p);
	}

	/* What programs say, while goroutine g runs on p. */
	say(p, task, texts) {
		const ring = this.file.ring(p);
		const text = (i) => texts[i % texts.length];
		ring.put(TR.TASK_BEGIN, 0, [task, task > 1 ? 1 : 0], text(task));
		ring.put(TR.REGION_BEGIN, 0, [task], text(task + 1));
		this.file.now += 2000;
		ring.put(TR.LOG, 0, [task], text(task + 2));
		ring.put(TR.REGION_END, 0);
		ring.put(TR.TASK_END, 0, [task]);
	}

	/* Stops the world, and takes a sample of what ran. */
	stop(p, g) {
		const ring = this.file.ring(p);
		ring.put(TR.WORLD_STOP, 0);
		this.file.now += 5000;
		ring.put(TR.WORLD_START, 0);
		ring.put(TR.SAMPLE, 2, [this.file.now, BigInt(p + 1) |
			BigInt(p) << 32n, g, 0x400100, 0x400300]);
	}

	/* The monitor takes p while its goroutine is in a call. */
	loseP(p, g) {
		const shared = this.file.ring(SHARED);
		this.file.ring(p).put(TR.CALL_BEGIN, 0);
		this.file.now += 30000;
		shared.put(TR.THREAD, 0, [1n << 32n]);
		shared.put(TR.P_TAKEN, p, [p + 1]);
		this.file.now += 40000;
		shared.put(TR.THREAD, p + 1, [g]);
		shared.put(TR.CALL_END, 0);
		shared.put(TR.YIELD, 2);
		this.ready.push(g);
		this.setRunning(p, 0);
		this.file.ring(p).put(TR.P_START, p + 1, [0]);
	}
}

function makeProgram(path, {events, procs, seed, names, texts}) {
	const file = new TraceFile(procs);
	SITES.forEach(([fn, name, line], i) =>
	    file.site(0x1000 + 16 * i, texts ? texts[i % texts.length] : fn,
		texts ? texts[(i + 1) % texts.length] : name, line));
	file.reasons(texts ? REASONS.map((reason, i) =>
	    texts[i % texts.length]) : REASONS);
	const program = new Program(file, seed || 1, names || ["", "http", "db"]);
	for (let i = 0; i < 8; i++)
		program.create(i % procs);
	let task = 1;
	for (let i = 0; i < events; i++) {
		const p = program.random(procs);
		const g = program.running[p];
		program.step(p);
		if (g && program.running[p] === g && i % 900 === 0)
			program.say(p, task++, texts || ["request", "parse",
				"sent the answer"]);
		else if (g && program.running[p] === g && i % 700 === 0)
			program.loseP(p, g);
		else if (g && program.running[p] === g && i % 300 === 0)
			program.stop(p, g);
	}
	file.end(path);
}

/* ---- files that are none */

function makeEmpty(path) {
	new TraceFile(2).end(path);
}

function makeOne(path) {
	const file = new TraceFile(1);
	file.ring(0).put(TR.CREATE, 1);
	file.end(path);
}

function makeCut(path, from) {
	const whole = fs.readFileSync(from);
	fs.writeFileSync(path, whole.subarray(0, Math.floor(whole.length * 0.6)));
}

const HOSTILE = ["</script><script>window.hacked=1;alert(1)</script>",
	"<img src=x onerror=\"window.hacked=1\">", "a\u0001b\u202ec\n\tn\r",
	Buffer.from([0xff, 0xfe, 0xc3, 0x28, 0x80]), "x".repeat(1024),
	"${window.hacked=1}`", "\"'&lt;-->]]>", "]]>{{1}}%s%n"];

function makeHostile(path) {
	makeProgram(path, {events: 4000, procs: 2, names: HOSTILE,
		texts: HOSTILE});
}

module.exports = {TraceFile, makeProgram, makeEmpty, makeOne, makeCut,
	makeHostile, HOSTILE};
