/* SPDX-License-Identifier: MIT */
/*
 * Takes the pictures of docs/debugging.md: docs/pictures/trace-*.png.
 *
 * Usage: B=build node tests/browser/pictures.js	(from the top of the
 * tree, after make test-browser)
 */
"use strict";

const {execFileSync} = require("child_process");
const fs = require("fs");
const os = require("os");
const path = require("path");

const {Browser, findBrowser} = require("./browser.js");

const build = process.env.B || "build";
const folder = fs.mkdtempSync(path.join(os.tmpdir(), "weft-pictures-"));

function page(program, args) {
	const trace = path.join(folder, program + ".trace");
	execFileSync(path.join(build, "tests/browser", program), args, {env: {
		...process.env, WEFT_DEBUG: `trace=${trace},` +
		    "tracebytes=1000000000"}});
	execFileSync(path.join(build, "bin/weft-trace"), ["view", trace, "-o",
		trace + ".html"]);
	return trace + ".html";
}

/* Milliseconds that goroutines of a page waited for a mutex, in all. */
async function mutexWaits(browser, html) {
	const tab = await browser.open(800, 600);
	await tab.load(html);
	const ns = await tab.run("(() => { const {trace} = weftView.page; " +
	    "let ns = 0; for (let i = 0; i < trace.rows.n; i++) if (" +
	    "trace.rows.state[i] === 4 && trace.reason(i) === 'mutex lock') " +
	    "ns += trace.rowLength(i); return ns; })()");
	await tab.close();
	return ns / 1e6;
}

/* Of several runs, that with the longest waits: disks differ. */
async function slowest(browser, runs) {
	let best = 0;
	for (let i = 0; i < runs; i++) {
		const html = page("orders", []);
		const ms = await mutexWaits(browser, html);
		if (ms > best)
			fs.copyFileSync(html,
			    path.join(folder, "slowest.html"));
		best = Math.max(best, ms);
	}
	return path.join(folder, "slowest.html");
}

const picture = (tab, name) => tab.picture(`docs/pictures/trace-${name}.png`);

/* The longest wait for the mutex, as the tab "Stalls" shows it. */
async function stall(browser, html) {
	const tab = await browser.open(1180, 700);
	await tab.load(html);
	await tab.run("weftView.page.showTab('Stalls');" +
	    "[...document.querySelectorAll('.tools button')].find((b) => " +
	    "b.textContent === 'Waiting').click()");
	await tab.run("(() => { const {page} = weftView; const tab = " +
	    "page.tabs.Stalls; const row = tab.rows.find((i) => " +
	    "page.trace.reason(i) === 'mutex lock'); tab.jump(row); " +
	    "page.showTab('Details'); })()");
	await tab.rest();
	await picture(tab, "stall");
	await tab.close();
}

async function overview(browser, html) {
	const tab = await browser.open(1180, 700, {dark: true});
	await tab.load(html);
	await tab.run("weftView.page.showTab('Goroutines')");
	await tab.rest();
	await picture(tab, "skynet");
	await tab.close();
}

async function main() {
	const browser = new Browser(findBrowser());
	await stall(browser, await slowest(browser, 10));
	await overview(browser, page("skynet", []));
	await browser.close();
	fs.rmSync(folder, {recursive: true, force: true});
}

main().catch((error) => {
	console.error(error);
	process.exit(1);
});
