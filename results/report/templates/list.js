// The list of questions, a page at a time.
const A_PAGE = 50;
const SIGNS = { right: "\u2713", wrong: "\u2717", none: "?" };
const SAID = { right: "right", wrong: "wrong", none: "no verdict" };
const FOUND = { all: "\u25cf", some: "\u25d0", no: "\u25cb", unknown: "" };
const FOUND_SAID = { all: "all evidence found", some: "some evidence found", no: "no evidence found", unknown: "" };

function mark(row) {
  if (!row) return make("span", { class: "none" }, "no row");
  if (row.failed !== undefined) return make("span", { class: "wrong" }, "failed");
  const verdict = verdictOf(row);
  const found = evidenceOf(row);
  return make(
    "span",
    {},
    make("span", { class: verdict }, SIGNS[verdict], make("span", { class: "unseen" }, " " + SAID[verdict] + ",")),
    " " + (row.f1 === undefined ? "\u2013" : row.f1.toFixed(2)) + " ",
    make("span", { "aria-hidden": "true" }, FOUND[found]),
    make("span", { class: "unseen" }, FOUND_SAID[found]),
  );
}

function entry(index, number, open) {
  const question = index.questions[number];
  const button = make("button", { type: "button", class: "open", dir: "auto", onclick: () => open(number) }, question.text || question.id);
  return make(
    "tr",
    {},
    make("th", { scope: "row" }, button),
    make("td", { class: "kind" }, question.type),
    question.rows.map((row, at) => make("td", { "data-name": index.columns[at] }, mark(row))),
  );
}

function listing(index, open) {
  const state = { shown: [], page: 0 };
  const body = make("tbody");
  const told = make("span", { class: "count", role: "status" });
  const turn = (by) => () => { state.page += by; draw(); };
  const back = make("button", { type: "button", onclick: turn(-1) }, "Earlier");
  const on = make("button", { type: "button", onclick: turn(1) }, "Later");
  const asked = filters(index, () => { state.page = 0; choose(); });

  function choose() {
    const wanted = asked.wanted();
    state.shown = [...index.questions.keys()].filter((number) => passes(index.questions[number], wanted));
    draw();
  }

  function draw() {
    const first = state.page * A_PAGE;
    const here = state.shown.slice(first, first + A_PAGE);
    body.replaceChildren(...here.map((number) => entry(index, number, open)));
    const range = here.length ? `, ${first + 1}\u2013${first + here.length} here` : "";
    told.textContent = `${state.shown.length.toLocaleString("en")} of ${count(index.questions.length, "question", "questions")}${range}`;
    back.disabled = state.page === 0;
    on.disabled = first + A_PAGE >= state.shown.length;
  }

  const names = ["Question", "Type", ...index.columns].map((name) => make("th", { scope: "col" }, name));
  const legend =
    "\u2713 judged right, \u2717 wrong, ? no verdict; then F1; then evidence in the first five turns recalled: " +
    "\u25cf all, \u25d0 some, \u25cb none.";
  const box = make(
    "div",
    { class: "listing" },
    asked.box,
    make("p", { class: "small" }, legend),
    make("div", { class: "bar" }, told, back, on),
    make("div", { class: "wide" }, make("table", { class: "questions" }, make("thead", {}, make("tr", {}, names)), body)),
  );
  choose();
  return { box, shown: () => state.shown };
}
