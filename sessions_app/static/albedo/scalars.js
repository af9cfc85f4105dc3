// Text counted in Unicode scalars, as the server counts; JavaScript's own length counts UTF-16 units.

const isHigh = (unit) => unit >= 0xd800 && unit <= 0xdbff;
const isLow = (unit) => unit >= 0xdc00 && unit <= 0xdfff;

function pairAt(text, index) {
  return isHigh(text.charCodeAt(index)) && isLow(text.charCodeAt(index + 1));
}

export function countScalars(text) {
  let count = 0;
  for (let index = 0; index < text.length; index += pairAt(text, index) ? 2 : 1) count += 1;
  return count;
}

// `text` without its first `count` scalars.
export function dropScalars(text, count) {
  let index = 0;
  for (let left = count; left > 0 && index < text.length; left -= 1) index += pairAt(text, index) ? 2 : 1;
  return text.slice(index);
}

// At most the last `units` UTF-16 units of `text`, never beginning inside a pair.
export function tailUnits(text, units) {
  if (text.length <= units) return text;
  const start = text.length - units;
  return text.slice(isLow(text.charCodeAt(start)) ? start + 1 : start);
}
