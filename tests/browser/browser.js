/* SPDX-License-Identifier: MIT */
/*
 * Chromium, driven by its DevTools protocol through a pipe: no port, and no
 * packages. Messages are JSON with a zero byte behind each; the browser reads
 * them on descriptor 3 and writes them on 4.
 */
"use strict";

const {spawn, execFileSync} = require("child_process");
const fs = require("fs");
const os = require("os");
const path = require("path");

const NAMES = ["chromium", "chromium-browser", "google-chrome"];

/* The path of a browser, or null. */
function findBrowser() {
	for (const name of [process.env.CHROMIUM, ...NAMES]) {
		if (!name)
			continue;
		try {
			return execFileSync("sh", ["-c",
			    `command -v "${name}"`], {encoding: "utf8"}).trim();
		} catch (error) {
			/* the next one */
		}
	}
	return null;
}

class Browser {
	constructor(executable) {
		this.folder = fs.mkdtempSync(
		    path.join(os.tmpdir(), "weft-view-"));
		this.child = spawn(executable, ["--headless=new",
			"--no-sandbox", "--disable-gpu", "--disable-quic",
			"--no-first-run",
			"--disable-background-networking", "--disable-sync",
			"--disable-component-update", "--disable-extensions",
			"--hide-scrollbars", "--remote-debugging-pipe",
			"--user-data-dir=" + this.folder, "about:blank"],
		    {stdio: ["ignore", "ignore", "ignore", "pipe", "pipe"]});
		this.waiting = new Map();
		this.listeners = [];
		this.number = 0;
		let rest = Buffer.alloc(0);
		this.child.stdio[4].on("data", (data) => {
			rest = Buffer.concat([rest, data]);
			for (let end; (end = rest.indexOf(0)) >= 0; ) {
				this.receive(JSON.parse(rest.subarray(0, end)));
				rest = rest.subarray(end + 1);
			}
		});
		this.child.stdio[3].on("error", () => {});
		this.ended = new Promise((done) => this.child.on("exit", done));
		this.ended.then(() =>
		    this.fail(new Error("the browser ended")));
	}

	fail(error) {
		for (const {reject} of this.waiting.values())
			reject(error);
		this.waiting.clear();
	}

	receive(message) {
		const waiter = this.waiting.get(message.id);
		if (!waiter) {
			for (const listener of this.listeners)
				listener(message);
			return;
		}
		this.waiting.delete(message.id);
		if (message.error)
			waiter.reject(new Error(message.error.message));
		else
			waiter.resolve(message.result);
	}

	send(method, params, sessionId) {
		const id = ++this.number;
		this.child.stdio[3].write(JSON.stringify({id, method,
			params: params || {}, sessionId}) + "\0");
		return new Promise((resolve, reject) =>
		    this.waiting.set(id, {resolve, reject}));
	}

	async open(width, height, options) {
		const {targetId} = await this.send("Target.createTarget",
		    {url: "about:blank"});
		const {sessionId} = await this.send("Target.attachToTarget",
		    {targetId, flatten: true});
		const tab = new Tab(this, sessionId, targetId);
		await tab.prepare(width, height, options || {});
		return tab;
	}

	async close() {
		const force = setTimeout(() => this.child.kill("SIGKILL"),
		    5000);
		this.send("Browser.close").catch(() => {});
		await this.ended;
		clearTimeout(force);
		fs.rmSync(this.folder, {recursive: true, force: true,
			maxRetries: 10, retryDelay: 100});
	}
}

/* One page, and what its console says. */
class Tab {
	constructor(browser, sessionId, targetId) {
		Object.assign(this, {browser, sessionId, targetId});
		this.errors = [];
		this.requests = [];
		browser.listeners.push((message) => this.listen(message));
	}

	listen({sessionId, method, params}) {
		if (sessionId !== this.sessionId)
			return;
		if (method === "Runtime.exceptionThrown")
			this.errors.push(params.exceptionDetails.exception ?
			    params.exceptionDetails.exception.description :
			    params.exceptionDetails.text);
		else if (method === "Runtime.consoleAPICalled" &&
		    /^(error|warning|assert)$/.test(params.type))
			this.errors.push(params.args.map((arg) =>
			    arg.value || arg.description).join(" "));
		else if (method === "Log.entryAdded" &&
		    params.entry.level === "error")
			this.errors.push(params.entry.text);
		else if (method === "Page.javascriptDialogOpening")
			this.errors.push("a dialog: " + params.message);
		else if (method === "Network.requestWillBeSent")
			this.requests.push(params.request.url.slice(0, 80));
	}

	send(method, params) {
		return this.browser.send(method, params, this.sessionId);
	}

	async prepare(width, height, {mobile, dark, scale}) {
		for (const domain of ["Page", "Runtime", "Log", "Network"])
			await this.send(domain + ".enable");
		await this.send("Emulation.setDeviceMetricsOverride", {width,
			height, deviceScaleFactor: scale || 1,
			mobile: Boolean(mobile)});
		if (mobile)
			await this.send("Emulation.setTouchEmulationEnabled",
			    {enabled: true, maxTouchPoints: 2});
		await this.send("Emulation.setEmulatedMedia", {features: [
			{name: "prefers-color-scheme",
				value: dark ? "dark" : "light"}]});
	}

	/* Opens a page, and waits until it can be used, or says why not. */
	async load(file, hash) {
		const began = Date.now();
		await this.send("Page.navigate", {url: "about:blank"});
		await this.send("Page.navigate", {url: "file://" +
			path.resolve(file) + (hash || "")});
		for (let i = 0; ; i++) {
			if (i > 6000)
				throw new Error("it was never loaded");
			const ready = await this.run(
			    "Boolean(window.weftView) ||" +
			    " document.readyState === 'complete' &&" +
			    " document.querySelector('#loading p') &&" +
			    " /cannot/.test(document.querySelector(" +
			    "'#loading p').textContent)")
			    .catch(() => false);
			if (ready)
				return Date.now() - began;
			await sleep(20);
		}
	}

	/* The value of an expression, which may be a promise. */
	async run(expression) {
		const {result, exceptionDetails} = await this.send(
		    "Runtime.evaluate", {expression, awaitPromise: true,
			returnByValue: true});
		if (exceptionDetails)
			throw new Error(exceptionDetails.exception ?
			    exceptionDetails.exception.description :
			    exceptionDetails.text);
		return result.value;
	}

	/*
	 * What the page shows, once everything it was told is drawn: an event
	 * arrives by the second frame, and a frame that was asked for, or an
	 * animation, is waited for.
	 */
	state() {
		return this.run(`new Promise((done, failed) => {
			let frames = 0;
			const look = () => {
				if (frames >= 2 && !weftView.page.view.pending)
					done(weftView.state());
				else if (++frames > 1200)
					failed(new Error("it never rests"));
				else
					requestAnimationFrame(look);
			};
			look();
		})`);
	}

	/* Until the expression is true; 20 seconds, which nothing takes. */
	async until(expression, what) {
		for (let i = 0; i < 800; i++) {
			if (await this.run(`Boolean(${expression})`))
				return;
			await sleep(25);
		}
		throw new Error("never: " + (what || expression));
	}

	/* Until nothing moves any more. */
	async rest() {
		await this.state();
	}

	mouse(type, x, y, more) {
		return this.send("Input.dispatchMouseEvent", {type, x, y,
			button: "none", ...more});
	}

	async click(x, y, clicks) {
		await this.mouse("mouseMoved", x, y);
		for (let n = 1; n <= (clicks || 1); n++) {
			await this.mouse("mousePressed", x, y,
			    {button: "left", clickCount: n});
			await this.mouse("mouseReleased", x, y,
			    {button: "left", clickCount: n});
		}
	}

	async drag(x0, y0, x1, y1, steps) {
		await this.mouse("mouseMoved", x0, y0);
		await this.mouse("mousePressed", x0, y0,
		    {button: "left", clickCount: 1, buttons: 1});
		for (let i = 1; i <= steps; i++)
			await this.mouse("mouseMoved",
			    x0 + (x1 - x0) * i / steps,
			    y0 + (y1 - y0) * i / steps,
			    {button: "left", buttons: 1});
		await this.mouse("mouseReleased", x1, y1,
		    {button: "left", clickCount: 1});
	}

	wheel(x, y, deltaY, deltaX) {
		return this.mouse("mouseWheel", x, y,
		    {deltaX: deltaX || 0, deltaY});
	}

	touch(type, points) {
		return this.send("Input.dispatchTouchEvent", {type,
			touchPoints: points.map(([x, y], id) => ({x, y, id}))});
	}

	/* A key by its name, held for some milliseconds; or until an expression
	 * is true: how many frames there are in that time is up to the machine. */
	async key(key, ms) {
		const code = KEY_CODES[key] || key.toUpperCase().charCodeAt(0);
		const event = {key, windowsVirtualKeyCode: code,
			...key.length === 1 ? {text: key} :
			key === "Enter" ? {text: "\r"} : {}};
		await this.send("Input.dispatchKeyEvent",
		    {type: "keyDown", ...event});
		if (typeof ms === "string")
			await this.until(ms, key + " held: " + ms);
		else if (ms)
			await sleep(ms);
		await this.send("Input.dispatchKeyEvent",
		    {type: "keyUp", ...event, text: undefined});
	}

	type(text) {
		return this.send("Input.insertText", {text});
	}

	async picture(file, clip) {
		const {data} = await this.send("Page.captureScreenshot",
		    {format: "png", ...clip ? {clip} : {}});
		fs.writeFileSync(file, Buffer.from(data, "base64"));
	}

	close() {
		return this.browser.send("Target.closeTarget",
		    {targetId: this.targetId});
	}
}

const KEY_CODES = {Enter: 13, Escape: 27, ArrowLeft: 37, ArrowUp: 38,
	ArrowRight: 39, ArrowDown: 40, Home: 36, PageDown: 34, Tab: 9};

const sleep = (ms) => new Promise((done) => setTimeout(done, ms));

module.exports = {Browser, findBrowser};
