// The slider: shows the charts of one step. Every chart but the belief's comes ready; the belief's axes are the reader's choice.
"use strict";
const data = JSON.parse(document.getElementById("data").textContent);
const at = (id) => document.getElementById(id);
const slider = at("step");
const PROBABILITY = "probability";
// nothing leaves the page: plotly's buttons for its own servers are off
const CONFIG = { responsive: true, displayModeBar: "hover", displaylogo: false, showSendToCloud: false, showEditInChartStudio: false, plotlyServerURL: "" };
const BEFORE = "#8a94a0", AFTER = "#3b8fd0";

// plotly reads some HTML in titles
const escaped = (text) => text.replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;");

function show(id, figure, note) {
  at(id).hidden = !figure;
  at(`${id}-note`).textContent = note;
  if (!figure) { Plotly.purge(at(id)); return; }
  const clear = "rgba(0,0,0,0)", modebar = { bgcolor: clear, color: BEFORE, activecolor: AFTER };
  const layout = { ...figure.layout, template: data.templates[theme.name], paper_bgcolor: clear, plot_bgcolor: clear, modebar };
  Plotly.react(at(id), structuredClone(figure.data), layout, CONFIG);
}

// Particles that coincide in the two components shown are one dot, of the sum of their weights.
function dots(belief, x, y) {
  const found = new Map();
  belief.weights.forEach((weight, i) => {
    const point = [belief.columns[x][i], belief.columns[y][i]];
    const known = found.get(point.join());
    if (known) known.weight += weight; else found.set(point.join(), { point, weight });
  });
  return [...found.values()];
}

function beliefTrace(belief, name, colour) {
  const x = Number(at("x").value);
  if (at("y").value === PROBABILITY) {
    const bins = data.whole[x] ? { xbins: { start: -0.5 + Math.min(...belief.columns[x]), end: 0.5 + Math.max(...belief.columns[x]), size: 1 } } : { nbinsx: 60 };
    return { type: "histogram", histfunc: "sum", x: belief.columns[x], y: belief.weights, ...bins, name, opacity: 0.6, marker: { color: colour } };
  }
  const points = dots(belief, x, Number(at("y").value));
  const most = Math.max(...points.map((p) => p.weight));
  return {
    type: "scatter", mode: "markers", name, x: points.map((p) => p.point[0]), y: points.map((p) => p.point[1]),
    hovertext: points.map((p) => `${p.point.join(", ")}: ${p.weight.toPrecision(3)}`), hoverinfo: "text",
    marker: { color: colour, opacity: 0.55, line: { width: 0 }, size: points.map((p) => 3 + 15 * Math.sqrt(p.weight / most) * (points.length < 300)) },
  };
}

function showBelief(t) {
  const before = data.beliefs[t], after = t < data.steps.length ? data.beliefs[t + 1] : undefined;
  const traces = [], notes = [];
  if (before) { traces.push(beliefTrace(before, "before", BEFORE)); notes.push(`before: ${before.note}`); }
  if (after) { traces.push(beliefTrace(after, "after action and observation", AFTER)); notes.push(`after: ${after.note}`); }
  const title = (id) => {
    const index = at(id).value;
    if (index === PROBABILITY) return { title: { text: PROBABILITY } };
    const few = data.whole[index] && [before, after].every((b) => !b || Math.max(...b.columns[index]) - Math.min(...b.columns[index]) < 20);
    return { title: { text: escaped(data.components[index]) }, ...(few ? { dtick: 1 } : {}) };
  };
  const layout = {
    barmode: data.whole[at("x").value] ? "group" : "overlay", height: 360, margin: { l: 50, r: 16, t: 34, b: 46 }, showlegend: true,
    legend: { orientation: "h", y: 1.02, yanchor: "bottom" }, xaxis: title("x"), yaxis: title("y"),
  };
  show("belief", traces.length ? { data: traces, layout } : null, traces.length ? notes.join(". ") : "The episode is over.");
}

function showStep() {
  const t = Number(slider.value), step = data.steps[t];
  at("at").textContent = `${t} / ${slider.max}`;
  document.querySelectorAll("section.step").forEach((section) => { section.hidden = Number(section.dataset.step) !== t; });
  document.querySelectorAll("#all tbody tr").forEach((row, i) => row.classList.toggle("now", i === t));
  at("node").textContent = "";
  showBelief(t);
  const over = "The episode is over.";
  show("values", step && step.values, !step ? over : step.values ? "Orange: the action taken." : step.tree_note);
  show("annealing", step && step.annealing, step ? step.annealing_note : over);
  show("tree", step && step.tree, step ? step.tree_note : over);
  if (step && step.tree) {
    at("tree").removeAllListeners("plotly_icicleclick");
    at("tree").on("plotly_icicleclick", (event) => {
      const index = Number(event.points[0].id);
      at("node").textContent = step.tree.data[0].hovertext[index].split("<br>").map(unescaped).join(" · ");
    });
  }
}

// the facts of a node stand escaped in the figure; here they are plain text
const unescaped = (text) => new DOMParser().parseFromString(text, "text/html").documentElement.textContent;

function move(by) { slider.value = Number(slider.value) + by; showStep(); }

data.components.forEach((name, index) => ["x", "y"].forEach((id) => at(id).add(new Option(name, index))));
at("y").add(new Option(PROBABILITY, PROBABILITY));
at("x").value = data.axes[0];
at("y").value = data.axes.length > 1 ? data.axes[1] : PROBABILITY;
["x", "y"].forEach((id) => at(id).addEventListener("change", () => showBelief(Number(slider.value))));
slider.addEventListener("input", showStep);
at("previous").addEventListener("click", () => move(-1));
at("next").addEventListener("click", () => move(1));
document.querySelectorAll("#all tbody tr").forEach((row, i) => row.addEventListener("click", () => { slider.value = i; showStep(); }));
theme.listeners.push(showStep);
showStep();
