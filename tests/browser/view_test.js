/* SPDX-License-Identifier: MIT */
/* See run. A check that fails is reported, and the others go on. */
"use strict";

const {execFileSync, spawnSync} = require("child_process");
const fs = require("fs");
const os = require("os");
const path = require("path");

const {Browser, findBrowser} = require("./browser.js");
const made = require("./trace_file.js");
const use = require("./view_use.js");
const frames = require("./view_frames.js");

const build = process.env.B || "build";
const tool = path.join(build, "bin/weft-trace");
const folder = fs.mkdtempSync(path.join(os.tmpdir(), "weft-trace-"));
const flags = process.argv.slice(2);

const results = {passed: 0, failed: 0};

function ok(condition, what) {
	results[condition ? "passed" : "failed"]++;
	if (!condition)
		console.log("not ok: " + what);
}

/* The page of a trace. */
function page(name) {
	const html = path.join(folder, name + ".html");
	execFileSync(tool, ["view", path.join(folder, name + ".trace"), "-o",
		html], {stdio: ["ignore", "inherit", "ignore"]});
	return html;
}

const trace = (name) => path.join(folder, name + ".trace");

/* Calls fn with a tab; then the page must have said and fetched nothing. */
async function inTab(browser, size, file, fn) {
	const [width, height, options] = size;
	const tab = await browser.open(width, height, options);
	try {
		await tab.load(file);
		await fn(tab);
	} catch (error) {
		ok(false, `${path.basename(file)}: ${error.message}`);
	}
	ok(tab.errors.length === 0, `${path.basename(file)}: errors: ` +
	    tab.errors.join("; "));
	const away = tab.requests.filter((url) => !/^(file|data|about|blob):/
	    .test(url));
	ok(away.length === 0, "requests: " + away.join(" "));
	await tab.close();
}

const DESKTOP = [1280, 800];
const PHONE = [390, 844, {mobile: true, scale: 2, dark: true}];
const NARROW = [320, 640, {mobile: true, scale: 2}];

/* ---- traces that are odd */

async function testOdd(browser) {
	made.makeOne(trace("one"));
	made.makeCut(trace("cut"), trace("program"));
	made.makeHostile(trace("hostile"));
	await inTab(browser, DESKTOP, page("one"), async (tab) => {
		const state = await tab.state();
		ok(state.goroutines === 1, "one: one goroutine");
		await use.everyTab(tab, ok);
	});
	await inTab(browser, DESKTOP, page("cut"), async (tab) => {
		const state = await tab.state();
		ok(state.rows > 100, "cut: what came before is shown");
		ok(await tab.run("!document.getElementById('warning').hidden"),
		    "cut: the page says so");
	});
	await inTab(browser, DESKTOP, page("hostile"), (tab) =>
	    use.hostile(tab, ok, made.HOSTILE));
	testEmpty();
	await testWithoutData(browser);
}

/* The tool refuses what has no events, and says so in one line. */
function testEmpty() {
	made.makeEmpty(trace("empty"));
	const {status, stderr} = spawnSync(tool, ["view", trace("empty"), "-o",
		path.join(folder, "empty.html")], {encoding: "utf8"});
	ok(status === 0 || status === 1 && stderr.split("\n").length === 2,
	    "empty: a page, or one line");
}

/* A page that was cut off on its way. */
async function testWithoutData(browser) {
	const whole = fs.readFileSync(page("one"), "utf8");
	const bare = path.join(folder, "bare.html");
	fs.writeFileSync(bare, whole.replace(
	    /^<script type="weft\/column".*<\/script>\n/gm, ""));
	await inTab(browser, DESKTOP, bare, async (tab) => {
		const state = await tab.state();
		ok(state.rows === 0 && state.end >= 1, "bare: no rows");
		await use.everyTab(tab, ok);
		await tab.key("w", 60);
	});
}

/* ---- all of it */

async function main() {
	const browser = new Browser(findBrowser());
	process.on("SIGTERM", () => browser.child.kill("SIGKILL"));
	made.makeProgram(trace("program"), {events: 30000, procs: 4});
	const program = page("program");
	await inTab(browser, DESKTOP, program, (tab) => use.timeline(tab, ok));
	await inTab(browser, DESKTOP, program, (tab) => use.panels(tab, ok));
	await inTab(browser, DESKTOP, program, (tab) =>
	    use.location(tab, ok, program));
	for (const size of [DESKTOP, PHONE, NARROW])
		await inTab(browser, size, program, (tab) =>
		    use.layout(tab, ok));
	await inTab(browser, PHONE, program, (tab) => use.touch(tab, ok));
	await testOdd(browser);
	await testSkynet(browser);
	await browser.close();
}

async function testSkynet(browser) {
	const size = flags.includes("--quick") ? "100000" : "1000000";
	execFileSync(path.join(build, "tests/browser/skynet"), [size], {
		env: {...process.env, WEFT_DEBUG: "trace=" + trace("skynet") +
			",tracebytes=1000000000"}});
	const html = page("skynet");
	await inTab(browser, DESKTOP, html, async (tab) => {
		const state = await tab.state();
		ok(state.goroutines > Number(size), "skynet: all goroutines");
		await frames.report(tab, html);
		await use.million(tab, ok);
	});
}

main().catch((error) => {
	console.log("not ok: " + error.stack);
	results.failed++;
}).finally(() => {
	fs.rmSync(folder, {recursive: true, force: true});
	console.log(`${results.passed} passed, ${results.failed} failed`);
	process.exit(results.failed ? 1 : 0);
});
