/* SPDX-License-Identifier: MIT */
/* How long frames take while a page of a large trace is moved. */
"use strict";

const fs = require("fs");

const RECORD = `new Promise((done) => {
	const times = [], draws = [];
	let last = performance.now();
	const until = last + MS;
	const frame = (now) => {
		times.push(now - last);
		draws.push(weftView.state().drawMs);
		last = now;
		if (now < until)
			requestAnimationFrame(frame);
		else
			done({times: times.slice(2), draws: draws.slice(2)});
	};
	requestAnimationFrame(frame);
})`;

function quantile(list, q) {
	const sorted = list.slice().sort((a, b) => a - b);
	return sorted[Math.min(sorted.length - 1, Math.floor(q * sorted.length))];
}

function line(what, {times, draws}) {
	const show = (list) => [0.5, 0.95, 1].map((q) =>
	    quantile(list, q).toFixed(1).padStart(6)).join(" ");
	console.log(`  ${what.padEnd(28)} frame ${show(times)}   drawing ` +
	    `${show(draws)}   ms: median, p95, max of ${times.length}`);
}

/* Holds a key, and records frames meanwhile. */
async function hold(tab, what, key, ms) {
	const recorded = tab.run(RECORD.replace("MS", ms));
	await tab.key(key, ms);
	line(what, await recorded);
	await tab.rest();
}

async function report(tab, html) {
	const state = await tab.state();
	const loadMs = await tab.run("weftView.loadMs");
	const memory = await tab.run("performance.memory ? " +
	    "performance.memory.usedJSHeapSize : 0");
	console.log(`  ${state.rows} rows, ${state.goroutines} goroutines, page ` +
	    `${(fs.statSync(html).size / 1e6).toFixed(1)} MB, opened in ` +
	    `${(loadMs / 1000).toFixed(1)} s, heap ` +
	    `${(memory / 1e6).toFixed(0)} MB`);
	await hold(tab, "zoom in from all", "w", 1500);
	await hold(tab, "move right", "d", 1200);
	await hold(tab, "zoom in further", "w", 2500);
	await hold(tab, "move right, close", "d", 1200);
	await hold(tab, "zoom out", "s", 2500);
	await tab.key("0");
	await tab.rest();
	await tab.run("weftView.page.view.zoom(0.7)");
	await hold(tab, "move left, nearly all", "a", 1200);
}

module.exports = {report};
