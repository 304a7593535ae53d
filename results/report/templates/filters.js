// Which questions are shown: what is asked of a row must hold in one and the same condition.
const VERDICTS = {
  "": "any",
  right: "right",
  wrong: "wrong",
  none: "no verdict",
  differ: "right in one, wrong in another",
};
const EVIDENCE = { "": "any", all: "all of it in the first 5", some: "some of it", no: "none of it", unknown: "not measured" };

function folded(text) {
  return text.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase();
}

function searched(question) {
  const texts = [question.id, question.type, question.text, question.reference];
  for (const row of question.rows) if (row) texts.push(row.answer ?? "", row.why ?? "", row.failed ?? "");
  return folded(texts.join("\n"));
}

function evidenceOf(row) {
  if (row.recall === undefined) return "unknown";
  if (row.recall >= 1) return "all";
  return row.recall > 0 ? "some" : "no";
}

function verdictOf(row) {
  if (row.judge === undefined) return "none";
  return row.judge >= 0.5 ? "right" : "wrong";
}

function rowPasses(row, wanted) {
  if (!row) return false;
  if (wanted.verdict && wanted.verdict !== "differ" && verdictOf(row) !== wanted.verdict) return false;
  if (wanted.evidence && evidenceOf(row) !== wanted.evidence) return false;
  if (wanted.f1 === "" || wanted.least === null) return true;
  if (row.f1 === undefined) return false;
  return wanted.f1 === "from" ? row.f1 >= wanted.least : row.f1 < wanted.least;
}

function passes(question, wanted) {
  if (wanted.type && question.type !== wanted.type) return false;
  if (wanted.words.length) {
    question.searched ??= searched(question);
    if (!wanted.words.every((word) => question.searched.includes(word))) return false;
  }
  if (wanted.verdict === "differ") {
    const found = new Set(question.rows.filter(Boolean).map(verdictOf));
    if (!(found.has("right") && found.has("wrong"))) return false;
  }
  const asks = wanted.column !== "" || wanted.verdict || wanted.evidence || wanted.f1;
  if (!asks) return true;
  const rows = wanted.column === "" ? question.rows : [question.rows[Number(wanted.column)]];
  return rows.some((row) => rowPasses(row, wanted));
}

function named(label, input) {
  input.id = "filter-" + label.split(" ")[0].toLowerCase() + "-" + input.tagName.toLowerCase();
  return make("div", { class: input.type === "search" ? "search" : "" }, make("label", { for: input.id }, label), input);
}

function choice(label, options, change) {
  const select = make("select", { onchange: change });
  for (const [value, text] of options) select.append(make("option", { value: value }, text));
  return { box: named(label, select), input: select };
}

function filters(index, change) {
  const kinds = [...new Set(index.questions.map((question) => question.type))].sort();
  const search = make("input", { type: "search", oninput: change, spellcheck: "false" });
  const type = choice("Type", [["", "all"], ...kinds.map((kind) => [kind, kind])], change);
  const columns = index.columns.map((name, at) => [String(at), name]);
  const column = choice("Condition", [["", "any"], ...columns], change);
  const verdict = choice("Judged", Object.entries(VERDICTS), change);
  const evidence = choice("Evidence found", Object.entries(EVIDENCE), change);
  const f1 = choice("F1", [["", "any"], ["from", "at least"], ["below", "below"]], change);
  const least = make("input", { type: "number", min: "0", max: "1", step: "0.05", value: "0.5", oninput: change });
  const box = make(
    "form",
    { class: "filters", role: "search", "aria-label": "Questions", onsubmit: (event) => event.preventDefault() },
    named("Search questions, answers, reasons", search),
    type.box, column.box, verdict.box, evidence.box, f1.box,
    named("F1 of", least),
  );
  const wanted = () => ({
    words: folded(search.value).split(/\s+/).filter(Boolean),
    type: type.input.value,
    column: column.input.value,
    verdict: verdict.input.value,
    evidence: evidence.input.value,
    f1: f1.input.value,
    least: Number.isFinite(least.valueAsNumber) ? least.valueAsNumber : null,
  });
  return { box, wanted };
}
