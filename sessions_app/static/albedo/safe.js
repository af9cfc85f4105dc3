// Text of models and tools made fit to be seen: nothing invisible stays, nothing in it can act.

const COLOURS = /\u001b\[[0-9;:]*m/g;
const CONTROLS = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/g;

function picture(char) {
  const code = char.charCodeAt(0);
  if (code < 0x20) return String.fromCharCode(0x2400 + code);
  if (code === 0x7f) return "\u2421";
  if (code < 0xa0) return "\ufffd";
  return `\u27eaU+${code.toString(16).toUpperCase()}\u27eb`;
}

// Terminal colours are dropped; every other control or direction character becomes a visible mark.
export function visible(text) {
  return text.replace(/\r\n?/g, "\n").replace(COLOURS, "").replace(CONTROLS, picture);
}

// The URL if it may be a link (http or https), else null.
export function safeUrl(text) {
  try {
    const url = new URL(text);
    return url.protocol === "https:" || url.protocol === "http:" ? url.href : null;
  } catch {
    return null;
  }
}

// A path of this server, or null: what a result names is never fetched from elsewhere.
export function ownPath(text) {
  return typeof text === "string" && /^\/api\/[A-Za-z0-9/_.?=&%~-]*$/.test(text) && !text.includes("..") ? text : null;
}
