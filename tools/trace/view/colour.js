/* SPDX-License-Identifier: MIT */
/*
 * Colours: of spawn sites by a hash of where they are, so that a site has the
 * same colour in each trace of a program; of states and reasons. A palette is
 * 0xBBGGRR, as pixels are in memory; the alpha is added when they are drawn.
 */

const css = (name) => getComputedStyle(document.documentElement)
    .getPropertyValue(name).trim();

const isDark = () => css("--dark") === "1";

/* OKLCH, whose lightness is that which is seen, to sRGB in 0..255. */
function oklch(light, chroma, hue) {
	const a = chroma * Math.cos(hue * Math.PI / 180);
	const b = chroma * Math.sin(hue * Math.PI / 180);
	const l = (light + 0.3963377774 * a + 0.2158037573 * b) ** 3;
	const m = (light - 0.1055613458 * a - 0.0638541728 * b) ** 3;
	const s = (light - 0.0894841775 * a - 1.2914855480 * b) ** 3;
	return [4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s,
		-1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s,
		-0.0041960863 * l - 0.7034186147 * m + 1.7076147010 * s]
	    .map((x) => Math.round(255 * clamp(x <= 0.0031308 ? 12.92 * x :
		1.055 * x ** (1 / 2.4) - 0.055, 0, 1)));
}

const pack = ([r, g, b]) => b << 16 | g << 8 | r;
const unpack = (c) => `rgb(${c & 255},${c >> 8 & 255},${c >> 16 & 255})`;

function hash(text) {
	let h = 2166136261;
	for (let i = 0; i < text.length; i++)
		h = Math.imul(h ^ text.charCodeAt(i), 16777619);
	h ^= h >>> 15;
	return Math.imul(h, 0x2c1b3c6d) >>> 0;
}

/* ---- sites */

const SITES_MAX = 32000;	/* with two codes each in 16 bits */

const siteCode = (site, call) => 2 * Math.min(site, SITES_MAX) + (call ? 1 : 0);

/*
 * Hues of the sites with the most goroutines are kept at least 15 degrees
 * apart: a site that comes too close to one before it takes the next step.
 */
function siteHues(trace) {
	const order = trace.groups.slice(0, SITES_MAX)
	    .sort((a, b) => b.n - a.n).map((group) => group.site);
	const hues = new Float64Array(trace.sites.length);
	const taken = new Uint8Array(24);
	let free = 24;
	for (const i of order) {
		const {fn, file, line} = trace.sites[i];
		let slot = hash(fn + " " + basename(file) + ":" + line) % 24;
		while (free > 0 && taken[slot])
			slot = (slot + 7) % 24;
		free -= taken[slot] ? 0 : 1;
		taken[slot] = 1;
		hues[i] = slot * 15 + 8;
	}
	return hues;
}

function sitePalette(trace, hues) {
	const dark = isDark();
	const n = Math.min(trace.sites.length, SITES_MAX) + 1;
	const palette = new Uint32Array(2 * n);
	for (let i = 0; i < n; i++) {
		const chroma = i === 0 || i >= hues.length ? 0.02 : 0.125;
		const hue = hues[i] || 0;
		palette[2 * i] = pack(oklch(dark ? 0.70 : 0.76, chroma, hue));
		palette[2 * i + 1] = pack(oklch(dark ? 0.48 : 0.89,
		    chroma * 0.45, hue));
	}
	return palette;
}

/* ---- states */

const stateCode = (state, reason) =>
    state === STATE.WAITING ? 8 + Math.min(reason, 4000) : state;

const STATE_VARIABLES = ["--state-none", "--state-runnable", "--state-running",
	"--state-call", "--state-waiting", "--state-detached", "--state-paused",
	"--state-none"];

function parseColour(text) {
	const m = /^#(..)(..)(..)$/.exec(text);
	return m ? m.slice(1).map((x) => parseInt(x, 16)) : [128, 128, 128];
}

/* Reasons are blue to violet. */
function reasonColour(text) {
	const dark = isDark();
	const h = hash(text);
	return oklch((dark ? 0.50 : 0.70) + (h % 3) * 0.05, 0.10,
	    225 + (h >>> 8) % 7 * 15);
}

function statePalette(trace) {
	const n = Math.min(trace.reasons.length, 4001);
	const palette = new Uint32Array(8 + 4001);
	for (let i = 0; i < 8; i++)
		palette[i] = pack(parseColour(css(STATE_VARIABLES[i])));
	palette.fill(palette[STATE.WAITING], 8);
	for (let i = 0; i < n; i++)
		palette[8 + i] = pack(reasonColour(trace.reasons[i]));
	return palette;
}

class Colours {
	constructor(trace) {
		this.trace = trace;
		this.hues = siteHues(trace);
		this.refresh();
	}

	/* After a change of light and dark. */
	refresh() {
		this.sites = sitePalette(this.trace, this.hues);
		this.states = statePalette(this.trace);
		this.names = {};
		for (const name of ["ground", "lane", "line", "text", "soft",
		    "accent", "on-slice", "mark", "world", "match", "area",
		    "area-line", "queue"])
			this.names[name] = css("--" + name);
		this.sans = css("--sans");
	}

	font(size) {
		return size + " " + this.sans;
	}

	site(i) {
		return unpack(this.sites[siteCode(i, false)] || this.sites[0]);
	}

	state(state, reason) {
		return unpack(this.states[stateCode(state, reason || 0)]);
	}
}
