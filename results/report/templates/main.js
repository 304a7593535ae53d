// The switch of colours, and the way between the list and a question, which the address keeps.
const theme = document.getElementById("theme");
theme.addEventListener("change", () => {
  if (theme.value) document.documentElement.dataset.theme = theme.value;
  else delete document.documentElement.dataset.theme;
});

function askedFor(index) {
  const [, id] = /^#question=(.*)$/.exec(location.hash) ?? [];
  if (id === undefined) return -1;
  try {
    const wanted = decodeURIComponent(id);
    return index.questions.findIndex((question) => question.id === wanted);
  } catch {
    return -1; // not an address that the report has made
  }
}

function browse(index, box, state) {
  const open = (number) => { location.hash = "question=" + encodeURIComponent(index.questions[number].id); };
  const close = () => { location.hash = "questions"; };
  const list = listing(index, open);
  let last = -1;

  function ways(number) {
    const among = list.shown().includes(number) ? list.shown() : [...index.questions.keys()];
    const at = among.indexOf(number);
    const to = (place, text) => make("button", { type: "button", disabled: among[place] === undefined, onclick: () => open(among[place]) }, text);
    return [make("button", { type: "button", onclick: close }, "All questions"), to(at - 1, "Previous"), to(at + 1, "Next")];
  }

  async function show() {
    const number = askedFor(index);
    if (number < 0) {
      if (!box.contains(list.box)) box.replaceChildren(list.box);
      if (last >= 0 && location.hash === "#questions") list.box.querySelector(".questions .open")?.focus({ preventScroll: true });
      last = -1;
      return;
    }
    const { box: article, heading } = await questionView(index, number, ways(number));
    if (askedFor(index) !== number) return; // another was opened meanwhile
    last = number;
    box.replaceChildren(article);
    heading.focus({ preventScroll: true });
    document.getElementById("questions").scrollIntoView();
  }

  window.addEventListener("hashchange", show);
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && last >= 0) close();
  });
  box.hidden = false;
  state.remove();
  return show();
}

async function start() {
  const state = document.getElementById("browser-state");
  if (!state) return;
  try {
    await browse(await block("index"), document.getElementById("browser"), state);
  } catch (error) {
    state.textContent = "The questions cannot be opened: this browser lacks what they need (DecompressionStream), or the file is damaged. " + error;
  }
}

// After the first paint: what stands above is readable before the questions are inflated.
requestAnimationFrame(() => setTimeout(start));
