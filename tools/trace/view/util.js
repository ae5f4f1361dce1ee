/* SPDX-License-Identifier: MIT */
/* Small things that all parts of the page use. */

const $ = (id) => document.getElementById(id);
const clamp = (x, lo, hi) => Math.max(lo, Math.min(hi, x));

/*
 * An element with properties and children. Strings become text nodes, so what
 * a trace says is never read as HTML.
 */
function el(tag, props, ...children) {
	const node = document.createElement(tag);
	for (const [key, value] of Object.entries(props || {})) {
		if (key in node)
			node[key] = value;
		else
			node.setAttribute(key, value);
	}
	node.append(...children.filter((child) => child != null));
	return node;
}

/* The first index in [lo, hi) at which array[index] >= value, or hi. */
function lowerBound(array, value, lo, hi) {
	while (lo < hi) {
		const mid = (lo + hi) >>> 1;
		if (array[mid] < value)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

/* The same, quick if the answer is close to lo. */
function gallop(array, value, lo, hi) {
	let step = 1;
	let at = lo;
	while (at < hi && array[at] < value) {
		lo = at + 1;
		at += step;
		step *= 2;
	}
	return lowerBound(array, value, lo, Math.min(at, hi));
}

/* Numbers 0..n-1, or those that pass. */
function numbers(n, wanted) {
	const all = new Int32Array(n);
	for (let i = 0; i < n; i++)
		all[i] = i;
	return wanted ? all.filter(wanted) : all;
}

/* ---- text */

const UNITS = [["s", 1e9], ["ms", 1e6], ["µs", 1e3], ["ns", 1]];

/* 1234567 -> "1.235 ms" */
function duration(ns) {
	if (!(ns >= 0))
		return "–";
	const [unit, size] = UNITS.find(([, s]) => ns >= s) || UNITS[3];
	const value = ns / size;
	const digits = size === 1 ? 0 : value >= 100 ? 1 : value >= 10 ? 2 : 3;
	return value.toFixed(digits) + " " + unit;
}

/* A moment, with as many digits as the step between moments needs. */
function moment(ns, step) {
	const size0 = Math.abs(ns) * 1.0001;
	const [unit, size] = UNITS.find(([, s]) => size0 >= s) ||
	    UNITS.find(([, s]) => step >= s) || UNITS[3];
	const digits = clamp(Math.ceil(-Math.log10(step / size) - 1e-9), 0, 9);
	return (ns / size).toFixed(digits) + " " + unit;
}

const count = (n) => n.toLocaleString("en-US");
const percent = (x) => (100 * x).toFixed(x < 0.1 && x > 0 ? 1 : 0) + " %";

const CONTROLS = new RegExp("[\\u0000-\\u001f\\u007f-\\u009f" +
    "\\u200b-\\u200f\\u2028-\\u202e\\u2066-\\u2069\\ufeff]", "g");

/* Control characters would change how the rest of a line is shown. */
function visible(text) {
	return text.replace(CONTROLS, (c) => "\\x" +
	    c.charCodeAt(0).toString(16).padStart(2, "0"));
}

function shorten(text, max) {
	return text.length <= max ? text : text.slice(0, max - 1) + "…";
}

const basename = (path) => path.slice(path.lastIndexOf("/") + 1);

function debounce(ms, fn) {
	let timer = 0;
	return (...args) => {
		clearTimeout(timer);
		timer = setTimeout(() => fn(...args), ms);
	};
}
