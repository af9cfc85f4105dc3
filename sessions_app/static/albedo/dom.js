// Making elements. Text goes in as text, never as markup.

export function el(tag, options = {}, ...children) {
  const { text, on = {}, data = {}, ...attributes } = options;
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === true) element.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined) element.setAttribute(name, value);
  }
  for (const [name, value] of Object.entries(data)) element.dataset[name] = value;
  for (const [name, listener] of Object.entries(on)) element.addEventListener(name, listener);
  if (text !== undefined) element.textContent = text;
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

export const byId = (id) => document.getElementById(id);

export function setText(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

export function formatCount(number) {
  return number.toLocaleString("en-US");
}

export function formatDuration(milliseconds) {
  if (milliseconds < 1000) return `${Math.round(milliseconds)} ms`;
  if (milliseconds < 60_000) return `${(milliseconds / 1000).toFixed(1)} s`;
  return `${Math.floor(milliseconds / 60_000)} min ${Math.round((milliseconds % 60_000) / 1000)} s`;
}

export function formatWhen(iso) {
  const when = new Date(iso);
  const sameDay = when.toDateString() === new Date().toDateString();
  const day = { month: "short", day: "numeric" };
  const time = { hour: "2-digit", minute: "2-digit" };
  return when.toLocaleString([], sameDay ? time : { ...day, ...time });
}
