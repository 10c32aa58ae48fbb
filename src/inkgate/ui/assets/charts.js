// Line charts as plain SVG. All of them show the values of one moment: under the pointer, or chosen by arrow keys.
import { draw, make } from "./dom.js";
import { word, number, dateText } from "./words.js";

const WIDTH = 320, HEIGHT = 88;
const SHARE_ABOVE = 0.05, MIN_POINTS = 8; // how many points may lie above a scale, and of how many
const STEPS = { ArrowLeft: -1, ArrowRight: 1, ArrowDown: -1, ArrowUp: 1, PageDown: -12, PageUp: 12, Home: -Infinity, End: Infinity };

// The smallest of some round numbers that is at least `most`; 0 for 0.
export function niceTop(most) {
  if (!(most > 0) || !Number.isFinite(most)) return 0;
  const power = 10 ** Math.floor(Math.log10(most));
  return [1, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10].map((step) => step * power).find((top) => top >= most * 0.999999);
}

export function shortNumber(value, percent = false) {
  if (percent) return Math.round(100 * value) + "%";
  if (value >= 100 || value === Math.round(value)) return number(Math.round(value));
  return number(Number(value >= 10 ? value.toFixed(1) : value.toPrecision(2)));
}

const isKnown = (value) => value !== null && value !== undefined;

// The top of the scale, the highest value, and how many points lie above the top. With `trims`, the highest twentieth of
// the points doesn't set the scale if it is more than twice as high as all others.
export function scaleOf({ at, series, trims, leastTop }) {
  const peaks = at.map((_, index) => series.map((line) => line.values[index]).filter(isKnown)).filter((values) => values.length).map((values) => Math.max(...values)).sort((a, b) => a - b);
  const most = Math.max(0, peaks.at(-1) ?? 0);
  const others = trims && peaks.length >= MIN_POINTS ? peaks.at(-1 - Math.max(1, Math.floor(SHARE_ABOVE * peaks.length))) : most;
  const top = Math.max(niceTop(most > 2 * others ? others : most), leastTop ?? 1);
  return { top, most, above: peaks.filter((peak) => peak > top).length };
}

export class Charts {
  constructor(parent) {
    Object.assign(this, { parent, views: new Map(), charts: [], moment: null, active: "" });
  }

  // `charts`: {name, title, unit, at: times in seconds, spanS, series: [{name, values, style, filled}], leastTop, percent, trims, counts}.
  // All have the same times. `counts`: the unit of a value where values are added up unless a moment is chosen.
  draw(charts) {
    const names = charts.map((chart) => chart.name);
    if (names.join() !== this.charts.map((chart) => chart.name).join()) {
      this.views = new Map(names.map((name) => [name, this.views.get(name) || this.view(name)]));
      this.parent.replaceChildren(...[...this.views.values()].map((view) => view.figure));
    }
    this.charts = charts;
    for (const chart of charts) this.drawLines(chart, this.views.get(chart.name));
    this.show(this.moment, this.active);
  }

  view(name) {
    const parts = { title: make("span"), unit: make("small"), keys: make("ul", { class: "keys" }), top: make("span", { class: "top" }), readout: make("span", { class: "readout", "aria-hidden": "true", hidden: true }), ago: make("span"), now: make("span") };
    const svg = draw("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: "none", "aria-hidden": "true" });
    const at = (event) => this.show(this.timeAt(event.clientX, plot), name);
    const plot = make("div", {
      class: "plot", role: "slider", tabindex: "0", "aria-valuemin": "0", onpointermove: at, onpointerdown: at,
      onpointerleave: (event) => { if (event.pointerType === "mouse") this.show(null); }, onblur: () => this.show(null), onkeydown: (event) => this.pressed(event, name),
    }, svg, make("span", { class: "moment", hidden: true }), parts.readout);
    return { ...parts, svg, plot, line: plot.querySelector(".moment"), figure: make("figure", { class: "chart" },
      make("figcaption", {}, parts.title, parts.unit), make("div", { class: "readings" }, parts.keys, parts.top), plot, make("div", { class: "axis", "aria-hidden": "true" }, parts.ago, parts.now)) };
  }

  drawLines(chart, view) {
    const { top, most, above } = scaleOf(chart), short = (value) => shortNumber(value, chart.percent);
    view.title.textContent = chart.title;
    view.top.textContent = above ? word("chart_above", { top: short(top), count: number(above), most: short(most) }) : short(top);
    view.ago.textContent = word("minutes_ago", { count: chart.spanS / 60 });
    view.now.textContent = word("now");
    view.plot.setAttribute("aria-label", chart.unit && !chart.counts ? `${chart.title}, ${chart.unit}` : chart.title);
    view.plot.setAttribute("aria-valuemax", Math.max(0, chart.at.length - 1));
    const grid = [1, HEIGHT / 2, HEIGHT - 1].map((y) => draw("line", { class: "grid", x1: 0, x2: WIDTH, y1: y, y2: y }));
    view.svg.replaceChildren(...grid, ...chart.series.flatMap((line) => paths(chart, line, top)));
  }

  // Shows the values at a time, in seconds, in all charts, and beside the pointer in the chart `active`; null: the latest.
  show(moment, active = "") {
    const at = (this.charts[0] || { at: [] }).at;
    const place = moment === null || !at.length || moment < at[0] - 5 ? -1 : nearest(at, moment);
    this.moment = place < 0 ? null : at[place];
    this.active = active;
    for (const chart of this.charts) this.drawMoment(chart, this.views.get(chart.name), place);
  }

  drawMoment(chart, view, place) {
    const textOf = (line) => { const value = valueOf(chart, line, place); return isKnown(value) ? shortNumber(value, chart.percent) : word("no_data"); };
    const several = chart.series.length > 1;
    view.keys.replaceChildren(...chart.series.map((line) => make("li", {}, several ? [make("span", { class: "key " + line.style }), line.name + " "] : null, make("b", {}, textOf(line)))));
    const values = chart.series.map((line) => (several ? line.name + " " : "") + textOf(line)).join(" · ");
    const time = place < 0 ? chart.counts ? chart.unit : word("now") : dateText(1000 * chart.at[place], { timeStyle: "medium" });
    view.unit.textContent = place >= 0 && chart.counts || chart.unit;
    view.plot.setAttribute("aria-valuenow", place < 0 ? Math.max(0, chart.at.length - 1) : place);
    view.plot.setAttribute("aria-valuetext", `${time}: ${values}`);
    view.line.hidden = place < 0;
    view.readout.hidden = place < 0 || this.active !== chart.name;
    if (place < 0) return;
    view.readout.textContent = `${time} · ${values}`;
    view.plot.style.setProperty("--at", `${100 * (1 - (chart.at.at(-1) - chart.at[place]) / chart.spanS)}%`);
  }

  timeAt(x, plot) {
    const { left, width } = plot.getBoundingClientRect();
    const chart = this.charts[0];
    return chart && chart.at.length ? chart.at.at(-1) - chart.spanS * (1 - Math.min(Math.max((x - left) / width, 0), 1)) : null;
  }

  pressed(event, name) {
    const { at } = this.charts[0], step = STEPS[event.key];
    if (event.key === "Escape" && this.moment !== null) this.show(null);
    else if (step && at.length) this.show(at[Math.min(Math.max((this.moment === null ? at.length - (step > 0 ? 1 : 0) : nearest(at, this.moment)) + step, 0), at.length - 1)], name);
    else return;
    event.preventDefault();
  }
}

function nearest(at, moment) {
  let found = 0;
  at.forEach((time, index) => { if (Math.abs(time - moment) < Math.abs(at[found] - moment)) found = index; });
  return found;
}

// The value at a place; for -1 the latest of the last half minute, or the sum.
function valueOf(chart, line, place) {
  if (place >= 0) return line.values[place];
  return chart.counts ? line.values.reduce((total, value) => total + value, 0) : line.values.slice(-6).reverse().find(isKnown);
}

function paths(chart, line, top) {
  const parts = [[]];
  const end = chart.at.at(-1);
  chart.at.forEach((moment, index) => {
    const value = line.values[index];
    if (isKnown(value)) parts.at(-1).push([WIDTH * (1 - (end - moment) / chart.spanS), HEIGHT - 1 - (HEIGHT - 2) * Math.min(value / top, 1)]);
    else parts.push([]);
  });
  return parts.filter((part) => part.length).flatMap((points) => {
    const alone = points.length === 1;
    const path = points.map(([x, y]) => `${x.toFixed(1)} ${y.toFixed(1)}`).join("L") + (alone ? "h0" : "");
    return [line.filled && !alone ? draw("path", { class: "area " + line.style, d: `M${points[0][0].toFixed(1)} ${HEIGHT}L${path}L${points.at(-1)[0].toFixed(1)} ${HEIGHT}Z` }) : null,
      draw("path", { class: `stroke ${line.style}${alone ? " alone" : ""}`, d: "M" + path })].filter(Boolean);
  });
}
