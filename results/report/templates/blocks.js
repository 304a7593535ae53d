// The data lie in the page as base64 of deflated JSON; a block is inflated when something in it is first looked at.
const QUESTIONS_A_BLOCK = 16;
const TURNS_A_BLOCK = 64;
const opened = new Map();

function block(name) {
  if (!opened.has(name)) opened.set(name, inflate(document.getElementById("block-" + name).textContent));
  return opened.get(name);
}

async function inflate(base64) {
  const letters = atob(base64);
  const bytes = new Uint8Array(letters.length);
  for (let at = 0; at < letters.length; at++) bytes[at] = letters.charCodeAt(at);
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return JSON.parse(await new Response(stream).text());
}

async function inBlock(name, number, size) {
  return (await block(name + "-" + Math.floor(number / size)))[number % size];
}

const detailOf = (number) => inBlock("details", number, QUESTIONS_A_BLOCK);
const contextsOf = (number) => inBlock("contexts", number, QUESTIONS_A_BLOCK);

async function turnsOf(numbers) {
  const turns = new Map();
  for (const number of numbers) turns.set(number, await inBlock("turns", number, TURNS_A_BLOCK));
  return turns;
}
