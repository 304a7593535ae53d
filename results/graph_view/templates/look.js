// How nodes look: a label has a colour that the colour-blind tell apart (Okabe and Ito) and a shape besides.
const LOOKS = [
  ["#0072b2", "dot", "M8 2a6 6 0 1 0 .01 0z"],
  ["#e69f00", "square", "M3 3h10v10H3z"],
  ["#009e73", "triangle", "M8 2l6 11H2z"],
  ["#d55e00", "diamond", "M8 1l6 7-6 7-6-7z"],
  ["#cc79a7", "triangleDown", "M2 3h12L8 14z"],
  ["#56b4e9", "star", "M8 1l2 5h5l-4 3 2 6-5-4-5 4 2-6-4-3h5z"],
  ["#f0e442", "hexagon", "M4 2h8l3 6-3 6H4L1 8z"],
];
const OTHER = ["#999999", "dot", LOOKS[0][2]];
const LONGEST_TITLE = 32;
const SMALLEST = 7;
const SMALLEST_OF_MANY = 11;
const MANY = 1000; // nodes, beyond which all that is seen of most is a dot: it is larger, and its rim does not hide its colour
const LARGEST = 20;

function looksOf(nodes) {
  const counts = new Map();
  for (const { label } of nodes) counts.set(label, (counts.get(label) ?? 0) + 1);
  const labels = [...counts].sort((a, b) => b[1] - a[1]);
  const many = labels.length > LOOKS.length;
  return new Map(labels.map(([label], place) => [label, !many || place < LOOKS.length - 1 ? LOOKS[place] : OTHER]));
}

function colour(name) {
  // light-dark() is resolved only in a property that takes a colour.
  const probe = document.getElementById("canvas");
  probe.style.color = `var(--${name})`;
  return getComputedStyle(probe).color;
}

function themed() {
  const [edge, accent] = ["edge", "accent"].map(colour);
  return { color: { color: edge, hover: accent, highlight: accent } };
}

function onTheme(changed) {
  const theme = document.getElementById("theme");
  theme.addEventListener("change", () => {
    if (theme.value) document.documentElement.dataset.theme = theme.value;
    else delete document.documentElement.dataset.theme;
    changed();
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", changed);
}

const oneLine = (text) => visible(text.replace(/\s+/g, " "));

function shortTitle(title) {
  const letters = [...oneLine(title)];
  return letters.length > LONGEST_TITLE ? letters.slice(0, LONGEST_TITLE - 1).join("") + "…" : letters.join("");
}

// Of importance in [0, 1], or of a degree against the largest: the area says it.
function radius(graph, id) {
  const least = graph.nodes.length > MANY ? SMALLEST_OF_MANY : SMALLEST;
  return least + (LARGEST - least) * Math.sqrt(graph.nodes[id].size / graph.largest);
}

function drawnNode(graph, id, look, evidence) {
  const node = graph.nodes[id];
  const [fill, shape] = look;
  return {
    id, x: node.x, y: node.y, shape, size: radius(graph, id),
    color: { background: fill, border: evidence ? "#d00000" : "#333a42", highlight: { background: fill, border: "#d00000" }, hover: { background: fill, border: "#d00000" } },
    borderWidth: evidence ? 4 : graph.nodes.length > MANY && !node.forgotten ? 0 : 1,
    opacity: node.forgotten ? 0.3 : 1,
    shapeProperties: { borderDashes: node.forgotten ? [4, 3] : false },
  };
}

function legend(looks, nodes, asked) {
  const entry = ([fill, , path], text, kind = "") => {
    const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
    const shape = document.createElementNS("http://www.w3.org/2000/svg", "path");
    for (const [name, value] of [["d", path], ["fill", fill], ["class", "shape " + kind]]) shape.setAttribute(name, value);
    svg.setAttribute("viewBox", "0 0 16 16");
    svg.setAttribute("aria-hidden", "true");
    svg.append(shape);
    return make("li", {}, svg, text);
  };
  const count = (test) => nodes.filter(test).length.toLocaleString("en");
  const own = [...looks].filter(([, look]) => look !== OTHER);
  const items = own.map(([label, look]) => entry(look, `${label}: ${count((node) => node.label === label)}`));
  const others = [...looks].filter(([, look]) => look === OTHER).map(([label]) => label);
  if (others.length) items.push(entry(OTHER, `${others.length} other labels: ${count((node) => others.includes(node.label))}`));
  if (nodes.some((node) => node.forgotten)) items.push(entry(OTHER, `faded, dashed: forgotten, ${count((node) => node.forgotten)}`, "forgotten"));
  if (asked) items.push(make("li", {}, "thick red rim: from evidence"));
  return items;
}
