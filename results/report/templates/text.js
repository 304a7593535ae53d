// Elements are made of the project's own tag and attribute names; what comes from data is only ever their text.
const STEERING = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/g;

function visible(text) {
  const name = (found) => "\u2039U+" + found.codePointAt(0).toString(16).toUpperCase().padStart(4, "0") + "\u203a";
  return String(text).replace(STEERING, name);
}

function make(tag, attributes, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (value === true) element.setAttribute(name, "");
    else if (value !== false && value !== undefined) element.setAttribute(name, value);
  }
  for (const child of children.flat()) {
    if (child === undefined || child === null) continue;
    element.append(child instanceof Node ? child : visible(child));
  }
  return element;
}

function quote(text, kind) {
  return make("div", { class: kind ? "quote " + kind : "quote", dir: "auto" }, text);
}

function figure(value) {
  return value === undefined ? "\u2013" : value.toFixed(3);
}

function count(number, one, many) {
  return number.toLocaleString("en") + " " + (number === 1 ? one : many);
}
