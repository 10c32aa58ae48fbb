// Line charts as plain SVG.
import { draw, make } from "./dom.js";
import { number } from "./words.js";

const WIDTH = 320, HEIGHT = 88;

// The smallest of 1, 2, 2.5 and 5 times a power of ten that is at least `most`; 0 for 0.
export function niceTop(most) {
  if (!(most > 0) || !Number.isFinite(most)) return 0;
  const power = 10 ** Math.floor(Math.log10(most));
  return [1, 2, 2.5, 5, 10].map((step) => step * power).find((top) => top >= most * 0.999999);
}

export function shortNumber(value, percent = false) {
  if (percent) return Math.round(100 * value) + "%";
  if (value >= 100 || value === Math.round(value)) return number(Math.round(value));
  return number(Number(value >= 10 ? value.toFixed(1) : value.toPrecision(2)));
}

// `chart`: {title, unit, at: times in seconds, series: [{name, values, style, filled}], leastTop, percent, spanS}. `words`: {now, ago, none}.
export function chartNode(chart, words) {
  const most = Math.max(0, ...chart.series.flatMap((line) => line.values.filter((value) => value !== null && value !== undefined)));
  const top = Math.max(niceTop(most), chart.leastTop ?? 1);
  const latest = (line) => { const value = line.values.slice(-6).reverse().find((one) => one !== null && one !== undefined); return value === undefined ? words.none : shortNumber(value, chart.percent); };
  const label = `${chart.title}${chart.unit ? ", " + chart.unit : ""}: ${chart.series.map((line) => line.name + " " + latest(line)).join("; ")}`;
  const grid = [1, HEIGHT / 2, HEIGHT - 1].map((y) => draw("line", { class: "grid", x1: 0, x2: WIDTH, y1: y, y2: y }));
  return make("figure", { class: "chart" },
    make("figcaption", {}, make("span", {}, chart.title), make("small", {}, chart.unit || "")),
    make("ul", { class: "keys" }, chart.series.map((line) => make("li", {}, chart.series.length > 1 ? [make("span", { class: "key " + (line.style || "one") }), line.name + " "] : null, make("b", {}, latest(line))))),
    make("div", { class: "plot" }, make("span", { class: "top", "aria-hidden": "true" }, shortNumber(top, chart.percent)),
      draw("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: "none", role: "img", "aria-label": label }, grid, chart.series.map((line) => paths(chart, line, top)))),
    make("div", { class: "axis", "aria-hidden": "true" }, make("span", {}, words.ago), make("span", {}, words.now)));
}

function paths(chart, line, top) {
  const parts = [[]];
  const end = chart.at.at(-1);
  chart.at.forEach((moment, index) => {
    const value = line.values[index], x = WIDTH * (1 - (end - moment) / chart.spanS);
    if (value === null || value === undefined || x < 0) parts.push([]);
    else parts.at(-1).push([x, HEIGHT - 1 - (HEIGHT - 2) * Math.min(value / top, 1)]);
  });
  return parts.filter((part) => part.length).flatMap((part) => {
    const points = part.length > 1 ? part : [[Math.max(part[0][0] - 1.5, 0), part[0][1]], part[0]];
    const path = points.map(([x, y]) => `${x.toFixed(1)} ${y.toFixed(1)}`).join("L");
    const style = line.style || "one";
    return [line.filled ? draw("path", { class: "area " + style, d: `M${points[0][0].toFixed(1)} ${HEIGHT}L${path}L${points.at(-1)[0].toFixed(1)} ${HEIGHT}Z` }) : null,
      draw("path", { class: "stroke " + style, d: "M" + path })].filter(Boolean);
  });
}
