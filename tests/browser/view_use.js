/* SPDX-License-Identifier: MIT */
/*
 * A person at the page: points, clicks, turns the wheel, types; and looks at
 * what came of it through weftView.state() and the elements of the page. ok is
 * ok(condition, what).
 */
"use strict";

const span = (state) => state.goal[1] - state.goal[0];

/* The middles of the tracks of a kind, in pixels of the window. */
async function tracks(tab, kind) {
	const state = await tab.state();
	const box = await tab.run("(() => { const r = document.getElementById(" +
	    "'lanes').getBoundingClientRect(); return [r.x, r.y]; })()");
	return state.tracks.filter((t) => t.kind === kind).map((found) => ({
		x: box[0] + state.gutter, y: box[1] + found.y +
		    Math.min(found.height / 2, 16), top: box[1],
		width: state.width - state.gutter}));
}

const track = async (tab, kind) => (await tracks(tab, kind))[0];

/* The first place on the lanes of a kind where something is. */
async function find(tab, kind) {
	for (const lane of await tracks(tab, kind)) {
		for (let x = 30; x < lane.width; x += 7) {
			await tab.mouse("mouseMoved", lane.x + x, lane.y);
			const {hover} = await tab.state();
			if (hover && hover.kind === "row")
				return {x: lane.x + x, y: lane.y, hover};
		}
	}
	throw new Error("nothing on the lanes");
}

const text = (tab, selector) => tab.run(
    `(document.querySelector(${JSON.stringify(selector)}) || ` +
    "{textContent: ''}).textContent");

async function clickOn(tab, selector, n) {
	const at = await tab.run(`(() => { const r = document.querySelectorAll(` +
	    `${JSON.stringify(selector)})[${n || 0}].getBoundingClientRect();` +
	    " return [r.x + r.width / 2, r.y + r.height / 2]; })()");
	await tab.click(at[0], at[1]);
}

/* ---- the timeline */

async function keys(tab, ok) {
	const all = await tab.state();
	await tab.key("w", "(([a, b]) => b - a)(weftView.state().goal) < " +
	    span(all) * 0.9);
	const near = await tab.state();
	ok(span(near) < span(all) * 0.9, "w zooms in");
	await tab.key("d", "weftView.state().t0 > " + near.t0);
	const right = await tab.state();
	ok(right.t0 > near.t0 && Math.abs(span(right) - span(near)) < 1,
	    "d moves right");
	await tab.key("ArrowLeft", "weftView.state().t0 < " + right.t0);
	const left = await tab.state();
	ok(left.t0 < right.t0, "the left arrow moves left");
	await tab.key("s", "(([a, b]) => b - a)(weftView.state().goal) > " +
	    span(left));
	ok(span(await tab.state()) > span(left), "s zooms out");
	await tab.key("0");
	await tab.rest();
	const again = await tab.state();
	ok(again.t0 === all.t0 && again.t1 === all.t1, "0 shows all");
}

async function pointer(tab, ok) {
	const lane = await track(tab, "p");
	const mid = lane.x + lane.width / 2;
	const all = await tab.state();
	for (let i = 0; i < 6; i++)
		await tab.wheel(mid, lane.y, -200);
	await tab.rest();
	const near = await tab.state();
	ok(span(near) < span(all) / 4, "the wheel zooms in");
	ok(near.t0 < all.end / 2 && near.t1 > all.end / 2,
	    "where the pointer is");
	await tab.drag(mid, lane.y, mid - 200, lane.y, 8);
	const moved = await tab.state();
	const step = span(near) / lane.width;
	ok(Math.abs(moved.t0 - near.t0 - 200 * step) < 8 * step,
	    "a drag moves by as much");
	await tab.drag(lane.x + 100, lane.top + 8, lane.x + 300, lane.top + 8, 6);
	await tab.rest();
	const ranged = await tab.state();
	ok(Math.abs(span(ranged) - 200 * step) < 8 * step,
	    "a drag on the ruler zooms to the range");
	await tab.wheel(mid, lane.y, 0, 120);
	ok((await tab.state()).t0 > ranged.t0, "a wheel sideways moves");
	await tab.key("0");
	await tab.rest();
}

async function minimap(tab, ok) {
	const box = await tab.run("(() => { const r = document.getElementById(" +
	    "'minimap').getBoundingClientRect();" +
	    " return [r.x, r.y, r.width, r.height]; })()");
	const y = box[1] + box[3] / 2;
	await tab.drag(box[0] + box[2] * 0.25, y, box[0] + box[2] * 0.5, y, 5);
	await tab.rest();
	const part = await tab.state();
	ok(Math.abs(part.t0 / part.end - 0.25) < 0.02 &&
	    Math.abs(part.t1 / part.end - 0.5) < 0.02,
	    "a drag on the minimap selects a range");
	await tab.drag(box[0] + box[2] * 0.3, y, box[0] + box[2] * 0.4, y, 5);
	const moved = await tab.state();
	ok(moved.t0 > part.t0 && Math.abs(span(moved) - span(part)) < 2,
	    "a drag of the range moves it");
	await tab.key("Home");
	await tab.rest();
}

async function select(tab, ok) {
	for (let i = 0; i < 9; i++)
		await tab.wheel(700, (await track(tab, "p")).y, -250);
	await tab.rest();
	const {x, y, hover} = await find(tab, "p");
	ok(await tab.run("!document.getElementById('tip').hidden"),
	    "pointing shows a tooltip");
	const tip = await text(tab, "#tip");
	ok(tip.includes("g" + hover.id) && tip.includes("spawned") &&
	    tip.includes("running"), "the tooltip tells: " + tip);
	await tab.click(x, y);
	const state = await tab.state();
	ok(state.selected && state.selected.id === hover.id,
	    "a click selects the goroutine");
	ok(state.tab === "Details", "and shows its details");
	ok((await text(tab, "#body")).includes("Where its time went"),
	    "with where its time went");
	ok(state.tracks[0].kind === "history", "and its history as a lane");
	const span = await tab.run("weftView.page.view.selected.rows.length");
	ok(span > 0, "its history has rows");
	await jump(tab, ok);
	await tab.key("Escape");
	ok(!(await tab.state()).selected, "Escape selects nothing");
}

async function jump(tab, ok) {
	await tab.key("0");
	await tab.rest();
	await tab.run("weftView.page.go(weftView.page.trace.rows.g[200], 200)");
	await tab.rest();
	const was = (await tab.state()).selected;
	await tab.key("j");
	const next = (await tab.state()).selected;
	ok(next.id === was.id && next.row > was.row, "j: the next span");
	await tab.key("k");
	ok((await tab.state()).selected.row === was.row, "k: the one before");
	await tab.key("u");
	await tab.rest();
	const waker = (await tab.state()).selected;
	ok(waker.id !== was.id, "u: what woke it");
	await tab.key("o");
	await tab.rest();
	ok((await tab.state()).selected.id !== waker.id, "o: what it woke");
}

async function arrows(tab, ok) {
	await tab.run("(() => { const v = weftView.page.view;" +
	    " v.setRange(v.trace.end * 0.3, v.trace.end * 0.304); })()");
	await tab.rest();
	const few = await tab.state();
	ok(few.arrows > 0, "arrows where few goroutines are seen");
	await tab.key("r");
	await tab.rest();
	ok(!(await tab.state()).show.arrows, "r hides them");
	await tab.key("r");
	await tab.key("0");
	await tab.rest();
}

async function lanes(tab, ok) {
	const kinds = async (kind) => (await tab.state()).tracks.filter(
	    (t) => t.kind === kind).length;
	ok(await kinds("p") === (await tab.state()).procs, "a lane for each P");
	ok(await kinds("m") === 0, "no threads");
	await tab.key("m");
	await tab.rest();
	ok(await kinds("m") > 0, "m: a lane for each thread");
	await tab.key("m");
	ok(await kinds("detached") > 0, "lanes of those without a P");
	await tab.key("l");
	await tab.rest();
	ok(await kinds("detached") === 0, "l hides them");
	await tab.key("l");
	ok(await kinds("tasks") > 0 && await kinds("logs") === 1,
	    "tasks and messages");
}

async function timeline(tab, ok) {
	await keys(tab, ok);
	await pointer(tab, ok);
	await minimap(tab, ok);
	await lanes(tab, ok);
	await arrows(tab, ok);
	await select(tab, ok);
	await searching(tab, ok);
}

async function searching(tab, ok) {
	await tab.key("0");
	await tab.rest();
	await tab.key("/");
	ok(await tab.run("document.activeElement.id") === "search",
	    "/ goes to the search");
	await tab.type("worker");
	await tab.until("weftView.state().matches > 0", "a match of worker");
	await tab.key("Enter");
	ok((await tab.state()).match === 0, "Enter: the first match");
	await tab.run("document.activeElement.blur()");
	await tab.key("n");
	await tab.rest();
	const second = await tab.state();
	ok(second.match === 1 && second.selected, "n: the next one");
	ok(second.t0 <= second.t1 && (await text(tab, "#found"))
	    .startsWith("2/"), "and its number");
	await tab.key("p");
	ok((await tab.state()).match === 0, "p: the one before");
	for (const [query, least] of [["reason:mutex", 1], ["mutex", 1],
	    ["id:5", 1], ["site:pool.c", 1], ["name:db", 1],
	    ["nothing like this", 0]]) {
		await tab.run(`weftView.page.find(${JSON.stringify(query)})`);
		const {matches} = await tab.state();
		ok(least ? matches >= least : matches === 0,
		    `search of ${query}: ${matches}`);
	}
	await tab.run("weftView.page.find('')");
	await tab.key("Escape");
	await tab.key("0");
	await tab.rest();
}

/* ---- the panels */

async function panels(tab, ok) {
	await goroutineTable(tab, ok);
	await siteTable(tab, ok);
	await stalls(tab, ok);
	await latency(tab, ok);
	await user(tab, ok);
	await dialog(tab, ok);
	await everyTab(tab, ok);
}

const cells = (tab, column) => tab.run("[...document.querySelectorAll(" +
    "'.trow:not([hidden])')].sort((a, b) => a.index - b.index)" +
    `.map((row) => row.children[${column}].textContent)`);

async function goroutineTable(tab, ok) {
	await tab.run("weftView.page.showTab('Goroutines')");
	const n = (await tab.state()).goroutines;
	ok((await text(tab, ".tools")).includes(n.toLocaleString("en-US")),
	    "the table has all goroutines");
	await clickOn(tab, ".thead button", 0);
	const down = (await cells(tab, 0)).map(Number);
	ok(down.length > 5 && down.every((id, i) => !i || id < down[i - 1]),
	    "sorted by id, down: " + down.slice(0, 4));
	await clickOn(tab, ".thead button", 0);
	const up = (await cells(tab, 0)).map(Number);
	ok(up[0] === 1 && up.every((id, i) => !i || id > up[i - 1]),
	    "and up");
	await tab.run("document.querySelector('.scroll').scrollTop = 1e9");
	await tab.rest();
	ok((await cells(tab, 0)).map(Number).includes(n), "to the last one");
	await clickOn(tab, ".tools input");
	await tab.type("ticker");
	await tab.until("/^[1-9][0-9,]* of/.test(document.querySelector(" +
	    "'.tools .muted').textContent) && ![...document." +
	    "querySelectorAll('.trow:not([hidden])')].some((row) => " +
	    "!row.textContent.includes('ticker'))", "filtered by ticker");
	await clickOn(tab, ".trow:not([hidden])");
	ok((await tab.state()).selected, "a click selects");
}

async function siteTable(tab, ok) {
	await tab.run("weftView.page.showTab('Sites')");
	ok((await cells(tab, 0)).length === 4, "four sites");
	await clickOn(tab, ".trow:not([hidden])");
	const state = await tab.state();
	ok(state.tab === "Goroutines", "a click lists its goroutines");
	ok(await tab.run("!document.querySelector('.tools button').hidden"),
	    "and says of which site");
}

async function stalls(tab, ok) {
	await tab.key("0");
	await tab.rest();
	await tab.run("document.activeElement.blur();" +
	    "weftView.page.showTab('Stalls')");
	const before = await tab.state();
	await clickOn(tab, ".trow:not([hidden])");
	await tab.rest();
	const state = await tab.state();
	ok(state.selected && state.selected.row >= 0, "a stall is selected");
	ok(span(state) !== span(before), "and zoomed to");
	const seen = await tab.run("(() => { const {trace, view} = " +
	    "weftView.page; const i = view.selected.row; return " +
	    "trace.rowStart(i) >= view.t0 && trace.rowEnd(i) <= view.t1 && " +
	    "trace.rows.state[i] === 1; })()");
	ok(seen, "all of it is seen, and it was runnable");
}

async function latency(tab, ok) {
	await tab.run("weftView.page.view.select(-1);" +
	    "weftView.page.showTab('Latency')");
	ok(/median/.test(await text(tab, "#body")), "percentiles of latency");
	const bar = await tab.run("(() => { const t = weftView.page.tabs." +
	    "Latency; const b = t.histogram.buckets.indexOf(Math.max(" +
	    "...t.histogram.buckets)); t.canvas.scrollIntoView(); const r = " +
	    "t.canvas.getBoundingClientRect(); return [r.x + t.bar * " +
	    "(b - t.range[0] + 0.5), r.y + r.height / 2]; })()");
	await tab.click(bar[0], bar[1]);
	await tab.rest();
	ok((await tab.state()).selected, "a click on a bar shows one of it");
}

async function user(tab, ok) {
	await tab.run("weftView.page.showTab('User')");
	ok((await cells(tab, 2)).some((name) => name === "request"),
	    "tasks have names");
	await clickOn(tab, ".tools button", 1);
	const messages = await cells(tab, 1);
	ok(messages.includes("request"), "so have messages: " + messages);
	await clickOn(tab, ".trow:not([hidden])");
	await tab.rest();
	await tab.run("weftView.page.showTab('CPU')");
	ok((await cells(tab, 2)).length > 0, "functions of CPU samples");
}

async function dialog(tab, ok) {
	await tab.run("document.activeElement.blur()");
	await tab.key("?");
	ok(await tab.run("document.getElementById('keys').open"), "? helps");
	await tab.key("Escape");
	await tab.until("!document.getElementById('keys').open");
	const was = await tab.run("document.documentElement.dataset.theme||''");
	await tab.key("t");
	ok(await tab.run("document.documentElement.dataset.theme||''") !== was,
	    "t changes the colours");
	await tab.key("t");
}

/* No tab may fail, whatever the trace has. */
async function everyTab(tab, ok) {
	for (const name of await tab.run("weftView.page.tabNames")) {
		await tab.run(`weftView.page.showTab("${name}")`);
		await tab.rest();
		ok((await tab.state()).tab === name, "tab " + name);
	}
}

/* ---- the location */

async function location(tab, ok, file) {
	const end = (await tab.state()).end;
	await tab.load(file, `#t=${Math.round(end * 0.25)}-` +
	    `${Math.round(end * 0.5)}&g=7&tab=Stalls`);
	const state = await tab.state();
	ok(Math.abs(state.t0 / end - 0.25) < 0.01 &&
	    Math.abs(state.t1 / end - 0.5) < 0.01, "the range of the hash");
	ok(state.selected && state.selected.id === "7", "its goroutine");
	ok(state.tab === "Stalls", "its tab");
	await tab.key("d", "weftView.state().t0 > " + state.t0);
	await tab.until(`location.hash !== "" && !location.hash.startsWith(` +
	    `"#t=${Math.round(end * 0.25)}-")`, "the hash follows");
	await tab.load(file, "#t=9-1&g=zz&tab=<b>&x");
	ok((await tab.state()).tab === "Summary", "a bad hash is ignored");
}

/* ---- layout */

const OVERLAPS = `(() => {
	const seen = (n) => n.offsetWidth && n.offsetHeight;
	const boxes = [...document.querySelectorAll("header > *, header button," +
	    "header input, #minimap, #timeline, #splitter, #tabs, #body")]
	    .filter(seen);
	const bad = [];
	for (const a of boxes) {
		for (const b of boxes) {
			if (a === b || a.contains(b) || b.contains(a))
				continue;
			const r = a.getBoundingClientRect();
			const s = b.getBoundingClientRect();
			if (r.left < s.right - 1 && s.left < r.right - 1 &&
			    r.top < s.bottom - 1 && s.top < r.bottom - 1)
				bad.push((a.id || a.tagName) + " over " +
				    (b.id || b.tagName));
		}
	}
	if (document.documentElement.scrollWidth > innerWidth)
		bad.push("wider than the window");
	return bad;
})()`;

async function layout(tab, ok) {
	for (const name of ["Summary", "Goroutines", "Stalls", "Details"]) {
		await tab.run(`weftView.page.showTab("${name}")`);
		await tab.rest();
		const bad = await tab.run(OVERLAPS);
		ok(bad.length === 0, `${name}: ${bad.join(", ")}`);
	}
	const state = await tab.state();
	const high = await tab.run("document.getElementById('timeline')" +
	    ".offsetHeight");
	ok(high >= 90 && state.width > 100, "the timeline has room: " + high);
}

/* ---- fingers */

async function touch(tab, ok) {
	const lane = await track(tab, "p");
	const mid = lane.x + lane.width / 2;
	const all = await tab.state();
	await tab.touch("touchStart", [[mid - 20, lane.y], [mid + 20, lane.y]]);
	for (let d = 20; d <= 120; d += 10)
		await tab.touch("touchMove", [[mid - d, lane.y],
			[mid + d, lane.y]]);
	await tab.touch("touchEnd", []);
	await tab.rest();
	const near = await tab.state();
	ok(span(near) < span(all) / 2, "two fingers zoom");
	await tab.touch("touchStart", [[mid, lane.y]]);
	for (let d = 0; d <= 80; d += 10)
		await tab.touch("touchMove", [[mid - d, lane.y]]);
	await tab.touch("touchEnd", []);
	await tab.rest();
	ok((await tab.state()).t0 > near.t0, "one moves");
	ok(!(await tab.state()).selected, "and selects nothing");
}

/* ---- odd and large ones */

async function hostile(tab, ok, texts) {
	await everyTab(tab, ok);
	await tab.run("weftView.page.showTab('Goroutines')");
	await tab.run("weftView.page.go(0, -1)");
	await tab.run("weftView.page.find('script')");
	const {matches} = await tab.state();
	ok(matches > 0, "found by their text: " + matches);
	for (const [kind] of [["p"], ["history"]]) {
		const lane = await track(tab, kind);
		await tab.mouse("mouseMoved", lane.x + 200, lane.y + 4);
		await tab.rest();
	}
	await tab.run("weftView.page.showTab('Sites')");
	const shown = (await cells(tab, 0)).join("\n");
	ok(texts.filter((name) => typeof name === "string" &&
	    shown.includes(name)).length >= 2, "names are shown as they are");
	ok(shown.includes("\\x01"), "control characters are escaped");
	ok(await tab.run("window.hacked === undefined && " +
	    "!document.querySelector('#body img, #tip img, #body script')"),
	    "nothing of a trace is run");
}

async function million(tab, ok) {
	await tab.run("weftView.page.showTab('Goroutines')");
	await tab.run("document.querySelector('.scroll').scrollTop = 1e9");
	await tab.rest();
	ok((await cells(tab, 0)).length > 3, "the end of the table is shown");
	await tab.run("weftView.page.find('sky')");
	ok((await tab.state()).matches > 100, "found");
	await tab.key("n");
	await tab.rest();
	ok((await tab.state()).selected, "and gone to");
	const {x, y} = await find(tab, "p");
	await tab.click(x, y);
	ok((await tab.state()).selected, "a click selects");
	await tab.key("0");
	await tab.rest();
	await stalls(tab, ok);
}

module.exports = {timeline, panels, location, layout, touch, hostile, everyTab,
	million};
