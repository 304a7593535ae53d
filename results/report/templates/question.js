// One question: what was asked and where the answer lies, and what each condition recalled, said, and was judged.
function evidenceTurn(turn) {
  return make("div", { class: "turn evidence" }, where(turn), turnText(turn));
}

function where(turn) {
  const told = [turn.speaker, turn.session && "session " + turn.session, turn.date, turn.id].filter(Boolean);
  return make("div", { class: "small" }, told.join(" \u00b7 "));
}

function turnText(turn) {
  if (turn.text === undefined) return quote("The turn is not in the run's table of turns.");
  const cut = turn.characters ? `\n\u2026 cut: ${turn.characters.toLocaleString("en")} characters in all` : "";
  const caption = turn.caption ? `\n[picture: ${turn.caption}]` : "";
  return quote(turn.text + caption + cut);
}

function rankedTurn(turn, place, score, isEvidence) {
  const badge = isEvidence ? [make("span", { class: "badge" }, "evidence"), " "] : [];
  const scored = score === undefined || score === null ? "" : ` (${score.toFixed(3)})`;
  return make(
    "li",
    {},
    make(
      "details",
      { class: isEvidence ? "evidence" : "" },
      make("summary", {}, `${place}${scored} `, badge, (turn.text ?? turn.id).slice(0, 160)),
      make("div", { class: isEvidence ? "turn evidence" : "turn" }, where(turn), turnText(turn)),
    ),
  );
}

function placesOfEvidence(row) {
  const found = row.ranks.filter((rank) => rank !== null && rank !== undefined).sort((one, other) => one - other);
  if (!row.ranks.length) return "no evidence turn to find";
  const places = found.length ? `at ${found.join(", ")}` : "not among the first 50 turns";
  const missing = found.length && found.length < row.ranks.length ? `; ${row.ranks.length - found.length} not among the first 50` : "";
  return `evidence ${places}${missing}`;
}

function ranking(row, told, evidence, turns) {
  const isRanked = told.mrr !== undefined;
  const shown = isRanked ? row.turns : [];
  const size = [count(row.of, "turn", "turns"), row.items && count(row.items, "item", "items"), row.edges && count(row.edges, "edge", "edges")];
  const line = `Recalled: ${size.filter(Boolean).join(", ")}; ` + (isRanked ? placesOfEvidence(row) : "not ranked");
  const list = shown.map((number, at) => rankedTurn(turns.get(number), at + 1, row.scores?.[at], evidence.has(number)));
  return [
    make("p", { class: "small" }, line + (row.flags ? `; ${row.flags.join(", ")}` : "")),
    list.length ? make("ol", { class: "ranking" }, list) : undefined,
    shown.length < row.of && isRanked ? make("p", { class: "small" }, `The first ${shown.length} of ${row.of.toLocaleString("en")} are shown.`) : undefined,
  ];
}

function context(kept) {
  if (!kept || !kept[1]) return undefined;
  const [text, all] = kept;
  const cut = text.length < all ? `, the first ${text.length.toLocaleString("en")} shown` : "";
  return make(
    "details",
    {},
    make("summary", {}, `Context: ${count(all, "character", "characters")}${cut}`),
    make("pre", { dir: "auto", tabindex: "0" }, text),
  );
}

function verdictLine(told) {
  const verdict = verdictOf(told);
  const said = verdict === "none" && told.verdict ? `no verdict (${told.verdict})` : SAID[verdict];
  const figures = `F1 ${figure(told.f1)}, recall@5 ${figure(told.recall)}, MRR ${figure(told.mrr)}`;
  const tokens = told.tokens === undefined ? "" : `, ${count(told.tokens, "token", "tokens")} of context`;
  return make("p", {}, make("span", { class: verdict }, `${SIGNS[verdict]} ${said}`), make("span", { class: "small" }, ` \u00b7 ${figures}${tokens}`));
}

function side(name, told, row, kept, evidence, turns) {
  const box = make("section", { class: "side" }, make("h4", {}, name));
  if (!told) {
    box.append(make("p", { class: "none" }, "This run has no row for the question."));
    return box;
  }
  box.append(verdictLine(told));
  box.append(told.failed === undefined ? quote(told.answer ?? "", "answer") : make("p", { class: "wrong" }, "Failed: " + told.failed));
  if (told.why) box.append(make("p", { class: "small", dir: "auto" }, "Judge: " + told.why));
  if (row?.failed) box.append(make("p", { class: "wrong" }, "Recall failed: " + row.failed));
  else if (row) box.append(...ranking(row, told, evidence, turns).filter(Boolean));
  box.append(context(kept) ?? "");
  return box;
}

async function questionView(index, number, move) {
  const question = index.questions[number];
  const [detail, contexts] = await Promise.all([detailOf(number), contextsOf(number)]);
  const evidence = new Set(detail.evidence);
  const wanted = detail.rows.filter(Boolean).flatMap((row) => row.turns);
  const turns = await turnsOf(new Set([...evidence, ...wanted]));
  const facts = [question.type, question.date && "asked " + question.date, question.id, question.abstention && "cannot be answered from the history"];
  const heading = make("h3", { tabindex: "-1", dir: "auto" }, question.text || question.id);
  const unresolved = detail.unresolved.length ? make("p", { class: "small" }, "Evidence that names no turn: " + detail.unresolved.join(", ")) : undefined;
  const box = make(
    "article",
    { class: "one" },
    make("div", { class: "bar" }, move),
    heading,
    make("p", { class: "small" }, facts.filter(Boolean).join(" \u00b7 ")),
    make("h4", {}, "Reference"),
    quote(question.reference),
    make("h4", {}, `Evidence: ${count(detail.evidence.length, "turn", "turns")}`),
    detail.evidence.map((turn) => evidenceTurn(turns.get(turn))),
    unresolved,
    make("h4", {}, "What each condition recalled and said"),
    make("div", { class: "sides" }, index.columns.map((name, at) => side(name, question.rows[at], detail.rows[at], contexts[at], evidence, turns))),
  );
  return { box, heading };
}
