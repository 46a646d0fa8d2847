// SPDX-License-Identifier: Apache-2.0
#include "src/report/page.hpp"

#include <fmt/format.h>

#include "kernels/base/html_text.hpp"

namespace triax {
namespace {

// Colors tell apart for people with color blindness (Okabe and Ito); runs have dashes of their own.
constexpr std::string_view style = R"css(
:root { color-scheme: light dark; --bg: #fff; --fg: #1b1f24; --soft: #5c6670; --grid: #d9dee3; --card: #f6f8fa;
  --c0: #0072b2; --c1: #d55e00; --c2: #009e73; --c3: #a2527e; --c4: #8a6d00; --c5: #3d7f9f; --other: #9aa4ae; }
@media (prefers-color-scheme: dark) { :root { --bg: #14181d; --fg: #e6eaee; --soft: #a2acb6; --grid: #353d46;
  --card: #1c2229; --c0: #56b4e9; --c1: #f0883e; --c2: #2ec4a0; --c3: #e08bb8; --c4: #e0c341; --c5: #8fc7e0;
  --other: #77828d; } }
@media print { :root { --bg: #fff; --fg: #000; --soft: #333; --grid: #bbb; --card: #fff; --c0: #0072b2; --c1: #d55e00;
  --c2: #009e73; --c3: #a2527e; --c4: #8a6d00; --c5: #3d7f9f; --other: #9aa4ae; } figure { break-inside: avoid; }
  .read { display: none; } }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 1rem; max-width: 75rem; background: var(--bg); color: var(--fg);
  font: 1rem/1.5 system-ui, sans-serif; overflow-wrap: break-word; }
h1 { font-size: 1.5rem; margin: 0 0 .25rem; } h2 { font-size: 1.15rem; margin: 2rem 0 .5rem; }
p { margin: .25rem 0; } .soft { color: var(--soft); }
.note { border-left: 4px solid var(--c1); padding: .25rem .75rem; margin: .5rem 0; background: var(--card); }
.charts { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(100%, 28rem), 1fr)); gap: 1rem; }
figure { margin: 0; padding: .75rem; background: var(--card); border: 1px solid var(--grid); border-radius: 6px;
  min-width: 0; }
figure.wide { margin-top: 1rem; }
figcaption { font-weight: 600; }
svg { width: 100%; height: auto; display: block; } svg.gantt { min-width: 44rem; }
svg:focus-visible, summary:focus-visible, .scroll:focus-visible { outline: 3px solid var(--c0); outline-offset: 2px; }
svg text { font: 13px system-ui, sans-serif; fill: var(--soft); }
.ylab, .row { text-anchor: end; } .xlab { text-anchor: middle; }
.grid { stroke: var(--grid); } .axis { stroke: var(--soft); } .cross { stroke: var(--fg); stroke-dasharray: 2 3; }
.line { fill: none; stroke-width: 1.8; stroke-linejoin: round; } .band { opacity: .22; }
.line.c0 { stroke: var(--c0); } .line.c1 { stroke: var(--c1); stroke-dasharray: 7 3; }
.line.c2 { stroke: var(--c2); stroke-dasharray: 2 3; } .line.c3 { stroke: var(--c3); stroke-dasharray: 9 3 2 3; }
.line.c4 { stroke: var(--c4); stroke-dasharray: 4 4; } .line.c5 { stroke: var(--c5); stroke-dasharray: 1 2; }
.band.c0, .dot.c0 { fill: var(--c0); } .band.c1, .dot.c1 { fill: var(--c1); } .band.c2, .dot.c2 { fill: var(--c2); }
.band.c3, .dot.c3 { fill: var(--c3); } .band.c4, .dot.c4 { fill: var(--c4); } .band.c5, .dot.c5 { fill: var(--c5); }
.g0 { fill: var(--c0); background: var(--c0); } .g1 { fill: var(--c1); background: var(--c1); }
.g2 { fill: var(--c5); background: var(--c5); } .g3 { fill: var(--c4); background: var(--c4); }
.g4 { fill: var(--c3); background: var(--c3); } .g5 { fill: var(--c2); background: var(--c2); }
.g6 { fill: var(--other); background: var(--other); }
.key { display: inline-block; width: .9em; height: .9em; margin-right: .3em; vertical-align: -.1em; border-radius: 2px; }
.key.c0 { background: var(--c0); } .key.c1 { background: var(--c1); } .key.c2 { background: var(--c2); }
.key.c3 { background: var(--c3); } .key.c4 { background: var(--c4); } .key.c5 { background: var(--c5); }
.key { print-color-adjust: exact; -webkit-print-color-adjust: exact; }
.legend span { margin-right: 1rem; white-space: nowrap; } .legend { font-size: .9rem; }
.read { display: block; min-height: 1.5em; font-size: .9rem; font-variant-numeric: tabular-nums; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; font-size: .9rem; font-variant-numeric: tabular-nums; }
th, td { padding: .2rem .6rem; border-bottom: 1px solid var(--grid); text-align: right; vertical-align: top; }
th:first-child, td.text { text-align: left; } thead th { color: var(--soft); font-weight: 600; }
.words td { text-align: left; } td { max-width: 26rem; overflow-wrap: anywhere; }
summary { cursor: pointer; padding: .25rem 0; } pre { overflow-x: auto; font-size: .85rem; }
)css";

// Values at the pointer, or by arrow keys, in the line below each picture.
constexpr std::string_view script = R"js(
const prefixes = ['bytes', 'kB', 'MB', 'GB', 'TB'];
function text(value, unit) {
  if (unit !== 'bytes') return String(Number(value.toPrecision(5))) + (unit ? ' ' + unit : '');
  let i = 0;
  while (value >= 1000 && i + 1 < prefixes.length) { value /= 1000; ++i; }
  return value.toFixed(i ? 2 : 0) + ' ' + prefixes[i];
}
for (const svg of document.querySelectorAll('svg[data-chart]')) {
  const chart = JSON.parse(svg.dataset.chart), read = svg.closest('figure').querySelector('.read');
  const cross = svg.querySelector('.cross'), longest = chart.curves.reduce((a, b) => b.p.length > a.p.length ? b : a);
  let at = -1;
  function nearest(points, step) {
    let low = 0, high = points.length - 1;
    while (low < high) { const mid = (low + high) >> 1; if (points[mid][0] < step) low = mid + 1; else high = mid; }
    return low > 0 && step - points[low - 1][0] < points[low][0] - step ? low - 1 : low;
  }
  function show(index) {
    at = Math.max(0, Math.min(longest.p.length - 1, index));
    const step = longest.p[at][0];
    const x = chart.left + (step - chart.x0) / (chart.x1 - chart.x0) * (chart.right - chart.left);
    cross.setAttribute('x1', x); cross.setAttribute('x2', x); cross.setAttribute('visibility', 'visible');
    read.textContent = 'step ' + step + ': ' + chart.curves.map(curve => {
      const p = curve.p[nearest(curve.p, step)];
      const range = p[2] < p[3] ? ' (' + text(p[2], chart.unit) + ' to ' + text(p[3], chart.unit) + ')' : '';
      return curve.name + (p[0] === step ? '' : ' at ' + p[0]) + ' ' + text(p[1], chart.unit) + range;
    }).join(', ');
  }
  function hide() { cross.setAttribute('visibility', 'hidden'); read.textContent = '\u00a0'; at = -1; }
  svg.addEventListener('pointermove', event => {
    const box = svg.getBoundingClientRect(), x = (event.clientX - box.left) / box.width * chart.width;
    const step = chart.x0 + (x - chart.left) / (chart.right - chart.left) * (chart.x1 - chart.x0);
    show(nearest(longest.p, step));
  });
  svg.addEventListener('pointerleave', hide);
  svg.addEventListener('blur', hide);
  svg.addEventListener('keydown', event => {
    const last = longest.p.length - 1, many = Math.max(1, Math.round(last / 20));
    const moves = {ArrowLeft: at - 1, ArrowRight: at + 1, PageDown: at + many, PageUp: at - many, Home: 0, End: last};
    if (event.key === 'Escape') return hide();
    if (!(event.key in moves)) return;
    event.preventDefault();
    show(moves[event.key]);
  });
}
for (const svg of document.querySelectorAll('svg.gantt')) {
  const read = svg.closest('figure').querySelector('.read');
  svg.addEventListener('pointerover', event => {
    const title = event.target.querySelector && event.target.tagName === 'rect' && event.target.querySelector('title');
    read.textContent = title ? title.textContent : '\u00a0';
  });
}
)js";

}  // namespace

std::string page_html(std::string_view title, std::string_view body) {
  return fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src "
      "'unsafe-inline'; script-src 'unsafe-inline'\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<title>{}</title>\n<style>{}</style></head>\n<body>\n{}\n<script>{}</script>\n</body></"
      "html>\n",
      html_escaped(title), style, body, script);
}

}  // namespace triax
