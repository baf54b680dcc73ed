/** Pictures of figures. A table beside them always has the same figures as text. */
import { draw } from "./page.mjs";

const cut = (share) => Math.min(1, Math.max(0, share));
const at = (share) => `${(100 * cut(share)).toFixed(3)}%`;

/**
 * Returns a bar of a share from 0 to 1, with its interval.
 *
 * `kind` is "share", "share unsure" or "own". `truth` is marked, where it is known.
 */
export function bar(share, { low = null, high = null, truth = null, kind = "share" } = {}) {
  const parts = [
    draw("rect", { class: "track", width: "100%", height: 20, rx: 3 }),
    draw("rect", { class: kind, width: at(share ?? 0), height: 20, rx: 3 }),
  ];
  if (low !== null && high !== null) {
    const [a, b] = [at(low), at(high)];
    parts.push(
      draw("line", { class: "whisker", x1: a, x2: b, y1: 10, y2: 10 }),
      draw("line", { class: "whisker", x1: a, x2: a, y1: 5, y2: 15 }),
      draw("line", { class: "whisker", x1: b, x2: b, y1: 5, y2: 15 }),
    );
  }
  if (truth !== null) parts.push(draw("line", { class: "truth", x1: at(truth), x2: at(truth), y1: 0, y2: 20 }));
  return draw("svg", { width: "100%", height: 20, "aria-hidden": "true", focusable: "false" }, parts);
}

/**
 * Returns lines over rounds with bands between the limits, for up to four series.
 *
 * A series is a list of `{ share, low, high }`, one per round, or null where a round has none. The top
 * of the chart is `most`.
 */
export function lines(series, { height = 120, most = 1 } = {}) {
  const many = Math.max(1, ...series.map((each) => each.length));
  const x = (i) => (many === 1 ? 50 : (100 * i) / (many - 1)).toFixed(2);
  const y = (share) => (100 * (1 - cut(share / most))).toFixed(2);
  const parts = [0, most / 2, most].map((share) =>
    draw("line", { class: "axis", x1: 0, x2: 100, y1: y(share), y2: y(share), "vector-effect": "non-scaling-stroke" }));
  series.forEach((each, s) => {
    const points = each.map((point, i) => ({ ...point, i })).filter(({ share }) => typeof share === "number");
    const upper = points.map(({ high, i }) => `${x(i)},${y(high)}`);
    const lower = points.map(({ low, i }) => `${x(i)},${y(low)}`).reverse();
    const line = points.map(({ share, i }) => `${x(i)},${y(share)}`);
    parts.push(draw("polygon", { class: `band s${s % 4}`, points: [...upper, ...lower].join(" ") }));
    parts.push(draw("polyline", { class: `line s${s % 4}`, points: line.join(" ") }));
  });
  return draw("svg", {
    width: "100%", height, viewBox: "0 0 100 100", preserveAspectRatio: "none", "aria-hidden": "true", focusable: "false",
  }, parts);
}
