// What is told of one node: all of it is set as text.
const NEIGHBOURS = 50;
const SOURCES = 20;

function sourceTurn(turn) {
  const who = [turn.speaker, turn.session, turn.date].filter(Boolean).join(", ");
  return [make("p", { class: "when" }, `${turn.id} (${who})${turn.evidence ? ", evidence" : ""}`), quote(turn.text, turn.evidence ? "evidence" : "")];
}

function neighbours(graph, number, open) {
  const items = [];
  for (const { source, target, relation } of graph.edges) {
    if (source !== number && target !== number) continue;
    const other = source === number ? target : source;
    const [before, after] = source === number ? [`${relation} → `, ""] : ["", ` ${relation} → this`];
    items.push(make("li", {}, before, make("button", { type: "button", onclick: () => open(other) }, graph.nodes[other].title), after));
  }
  return items;
}

function details(graph, number, open) {
  const node = graph.nodes[number];
  const facts = [
    ["label", node.label],
    [graph.size, node.size.toLocaleString("en", { maximumFractionDigits: 4 })],
    ["created", node.created || "not known"],
    ["last accessed", node.accessed || "never"],
    ["accesses", node.accesses.toLocaleString("en")],
  ];
  if (node.forgotten) facts.unshift(["fate", "forgotten"]);
  const near = neighbours(graph, number, open);
  const beyond = (all, most) => (all > most ? make("p", {}, `and ${(all - most).toLocaleString("en")} more`) : undefined);
  return [
    make("h2", { dir: "auto" }, node.title),
    make("dl", {}, facts.flatMap(([name, value]) => [make("dt", {}, name), make("dd", {}, value)])),
    node.content && quote(node.content),
    make("h2", {}, count(node.turns.length, "source turn", "source turns")),
    node.turns.slice(0, SOURCES).map((turn) => sourceTurn(graph.turns[turn])),
    beyond(node.turns.length, SOURCES),
    node.elsewhere ? make("p", {}, `and ${node.elsewhere.toLocaleString("en")} in other histories`) : undefined,
    make("h2", {}, count(near.length, "edge", "edges")),
    make("ul", {}, near.slice(0, NEIGHBOURS)),
    beyond(near.length, NEIGHBOURS),
  ];
}
