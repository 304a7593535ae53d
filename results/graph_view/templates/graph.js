// The picture: places come with the data, so nothing is simulated here; the slider hides what came later.
const FOUND = 30;
const MANY_EDGES = 1500;
const $ = (id) => document.getElementById(id);

function drawing(graph) {
  const looks = looksOf(graph.nodes);
  const asked = graph.turns.some((turn) => turn.evidence);
  const fromEvidence = (node) => node.turns.some((turn) => graph.turns[turn].evidence);
  const nodes = new vis.DataSet(graph.nodes.map((node, id) => drawnNode(graph, id, looks.get(node.label), asked && fromEvidence(node))));
  const edges = new vis.DataSet(graph.edges.map((edge, id) => ({
    id, from: edge.source, to: edge.target,
    title: oneLine(`${graph.nodes[edge.source].title} → ${edge.relation} → ${graph.nodes[edge.target].title}`),
  })));
  const busy = graph.edges.length > MANY_EDGES;
  const network = new vis.Network($("canvas"), { nodes, edges }, {
    physics: false,
    layout: { improvedLayout: false },
    interaction: { hover: true, dragNodes: false, tooltipDelay: 150, hideEdgesOnDrag: busy, hideEdgesOnZoom: busy },
    edges: { ...themed(), smooth: false, width: 1, hoverWidth: 1, selectionWidth: 2, arrows: { to: { enabled: !busy, scaleFactor: 0.4 } } },
  });
  $("legend").replaceChildren(...legend(looks, graph.nodes, asked));
  network.on("afterDrawing", titles(graph, network));
  onTheme(() => network.setOptions({ edges: themed() }));
  return { network, nodes, edges };
}

// Only what appears or disappears between two turns is touched.
function slider(graph, { nodes, edges }) {
  const input = $("turn");
  let last = graph.turns.length;
  const between = (rows, turnOf, low, high, hidden) =>
    rows.flatMap((row, id) => (turnOf(row) >= low && turnOf(row) < high ? [{ id, hidden }] : []));
  function show() {
    const now = Number(input.value);
    const [low, high] = [Math.min(now, last), Math.max(now, last)];
    nodes.update(between(graph.nodes, (node) => node.turns[0], low, high, now < last));
    edges.update(between(graph.edges, (edge) => edge.turn, low, high, now < last));
    last = now;
    const turn = graph.turns[now - 1];
    const there = graph.nodes.filter((node) => node.turns[0] < now).length;
    const where = [turn.session, turn.date].filter(Boolean).join(", ");
    $("when").textContent = visible(`${now.toLocaleString("en")} of ${count(graph.turns.length, "turn", "turns")}: ${count(there, "node", "nodes")}. ${where}`);
  }
  input.max = last; // before the value, which is kept below it
  input.value = last;
  input.addEventListener("input", show);
  show();
  return (turn) => {
    if (turn < Number(input.value)) return;
    input.value = turn + 1;
    show();
  };
}

function search(graph, open) {
  const titles = graph.nodes.map((node) => node.title.toLowerCase());
  $("search").addEventListener("input", ({ target }) => {
    const wanted = target.value.trim().toLowerCase();
    const found = wanted ? titles.flatMap((title, id) => (title.includes(wanted) ? [id] : [])) : [];
    const item = (id) => make("li", {}, make("button", { type: "button", onclick: () => open(id) }, graph.nodes[id].title), ` (${graph.nodes[id].label})`);
    $("found").replaceChildren(...found.slice(0, FOUND).map(item));
    const more = found.length > FOUND ? `, ${FOUND} shown` : "";
    $("found-count").textContent = wanted ? count(found.length, "node", "nodes") + " found" + more : "";
  });
}

async function start() {
  try {
    const graph = await block("graph");
    graph.largest = Math.max(1e-9, graph.nodes[0].size); // they come with the largest first
    $("controls").hidden = false;
    const drawn = drawing(graph);
    const reveal = slider(graph, drawn);
    const tell = (id) => $("details").replaceChildren(...details(graph, id, open).flat(2).filter(Boolean));
    function open(id) {
      reveal(graph.nodes[id].turns[0]);
      drawn.network.selectNodes([id]);
      drawn.network.focus(id, { scale: Math.max(1, drawn.network.getScale()), animation: false });
      tell(id);
    }
    drawn.network.on("selectNode", ({ nodes }) => tell(nodes[0]));
    drawn.network.on("deselectNode", () => $("details").replaceChildren());
    search(graph, open);
    $("state").remove();
    globalThis.picture = drawn.network; // for whoever measures it
  } catch (error) {
    $("state").textContent = "The graph cannot be opened: this browser lacks what it needs (DecompressionStream), or the file is damaged. " + error;
  }
}

start();
