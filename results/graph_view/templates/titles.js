// The titles in the picture: of the largest nodes first, and none over another, so that they can be read at any zoom.
const TITLE_PIXELS = 13;
const MOST_TITLES = 150;

// Nodes come with the largest first. Draws onto the canvas after the nodes, in the picture's own units.
function titles(graph, network) {
  const texts = graph.nodes.map((node) => shortTitle(node.title));
  const widths = new Map();
  const widthOf = (context, id) => {
    if (!widths.has(id)) widths.set(id, context.measureText(texts[id]).width);
    return widths.get(id);
  };
  return (context) => {
    const scale = network.getScale();
    const now = Number($("turn").value);
    const [low, high] = [network.DOMtoCanvas({ x: 0, y: 0 }), network.DOMtoCanvas({ x: $("canvas").clientWidth, y: $("canvas").clientHeight })];
    const chosen = new Set(network.getSelectedNodes());
    const taken = [];
    context.textAlign = "center";
    context.textBaseline = "top";
    context.lineJoin = "round";
    context.fillStyle = colour("ink");
    context.strokeStyle = colour("paper");
    for (const id of [...chosen, ...graph.nodes.keys()]) {
      const { x, y, turns, forgotten } = graph.nodes[id];
      if (taken.length >= MOST_TITLES) break;
      if (turns[0] >= now || x < low.x || x > high.x || y < low.y || y > high.y) continue;
      context.font = `${TITLE_PIXELS}px system-ui, "Noto Sans", "DejaVu Sans", sans-serif`;
      const half = (widthOf(context, id) / 2 + 4) / scale;
      const top = y + radius(graph, id) + 2 / scale;
      const box = [x - half, top, x + half, top + (TITLE_PIXELS + 3) / scale];
      if (taken.some((other) => box[0] < other[2] && box[2] > other[0] && box[1] < other[3] && box[3] > other[1])) continue;
      taken.push(box);
      context.font = `${chosen.has(id) ? "bold " : ""}${TITLE_PIXELS / scale}px system-ui, "Noto Sans", "DejaVu Sans", sans-serif`;
      context.globalAlpha = forgotten ? 0.6 : 1;
      context.lineWidth = 3 / scale;
      context.strokeText(texts[id], x, top);
      context.fillText(texts[id], x, top);
    }
    context.globalAlpha = 1;
  };
}
