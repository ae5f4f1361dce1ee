/* SPDX-License-Identifier: MIT */
/*
 * What is at a place of the timeline:
 *	{kind: "row", row, g, t0, t1}	a span of a goroutine
 *	{kind: "sample" | "mark" | "log" | "task" | "world", item, t0, t1}
 * or null.
 */

const NEAR = 3;			/* pixels */

function hitTest(view, tracks, x, y) {
	if (x < view.gutter || y < 0)
		return null;
	const t = view.t(x);
	const step = (view.t1 - view.t0) / view.plot;
	if (y < RULER + 4)
		return hitWorld(view.trace, t, step);
	const track = tracks.at(y);
	if (!track)
		return null;
	const dy = y - (track.y - view.scroll + RULER);
	return hitTrack(view, tracks, track, t, step, dy) ||
	    hitWorld(view.trace, t, step);
}

function hitTrack(view, tracks, track, t, step, dy) {
	switch (track.kind) {
	case "history":
		return dy >= 42 ? hitItem("region", view.selected.regions.map(
		    (r) => ({...r, end: r.length < 0 ? view.trace.end :
			r.t + r.length})), t, step) :
		    dy < 18 ? null : hitLane(view, view.selected.lane, t, step);
	case "logs":
		return hitMoment("log", tracks.logs, t, step);
	case "tasks":
		return hitItem("task", track.tasks, t, step);
	case "p":
		return dy > track.span.height + 1 ?
		    hitMoment("sample", tracks.moments[track.p], t, step) ||
		    hitMoment("mark", tracks.marks[track.p], t, step) :
		    hitOver(view, track.p, t, step) ||
		    hitLane(view, track.lane, t, step);
	case "m":
	case "detached":
		return hitLane(view, track.lane, t, step);
	}
	return null;
}

/* The selected goroutine and matches lie over the others. */
function hitOver(view, p, t, step) {
	for (const over of [view.selected, view.matches]) {
		const hit = over && hitLane(view, over.lanes[p], t, step);
		if (hit)
			return hit;
	}
	return null;
}

function hitLane(view, lane, t, step) {
	const i = lane.at(t - step / 2, t + step / 2);
	if (i < 0)
		return null;
	const row = lane.row[i];
	return {kind: "row", row, g: view.trace.rows.g[row], t0: lane.start[i],
		t1: lane.end[i]};
}

function hitMoment(kind, list, t, step) {
	const i = lowerBound(list.t, t - NEAR * step, 0, list.t.length);
	if (i >= list.t.length || list.t[i] > t + NEAR * step)
		return null;
	let best = i;
	for (let k = i; k < list.t.length && list.t[k] <= t + NEAR * step &&
	    k < i + 100; k++) {
		if (Math.abs(list.t[k] - t) < Math.abs(list.t[best] - t))
			best = k;
	}
	return {kind, t0: list.t[best], t1: list.t[best], row: -1,
		item: list.item ? list.item(best) : list.items[best]};
}

function hitItem(kind, list, t, step) {
	let best = null;
	for (const item of list) {
		if (item.t - step <= t && item.end + step >= t)
			best = item;
	}
	return best && {kind, item: best, t0: best.t, t1: best.end, row: -1};
}

function hitWorld(trace, t, step) {
	const item = trace.world.find((w) => w.t - step <= t &&
	    w.end + step >= t);
	return item ? {kind: "world", item, t0: item.t, t1: item.end, row: -1} :
	    null;
}
