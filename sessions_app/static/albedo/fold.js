// Folding events into a snapshot: pure, nothing is changed in place. The rules are the contract's section 5.

import { countScalars, dropScalars, tailUnits } from "./scalars.js";

// More than the server keeps, so that a long answer is seen whole while it is written; still a bound.
const TAIL_UNITS = 256 * 1024;
const EMPTY_TAIL = { offset_scalars: 0, text: "" };

const endOf = (tail) => tail.end_scalars ?? tail.offset_scalars + countScalars(tail.text);

// `tail` with `text` that begins at `offset` of the whole: the known part is passed over, a gap starts anew.
export function extendTail(tail, offset, text) {
  const end = endOf(tail);
  const last = offset + countScalars(text);
  if (offset > end) return bounded(offset, text, last);
  if (last <= end) return tail;
  return bounded(tail.offset_scalars, tail.text + dropScalars(text, end - offset), last);
}

function bounded(offset, text, end) {
  const kept = tailUnits(text, TAIL_UNITS);
  const start = kept.length === text.length ? offset : end - countScalars(kept);
  return { offset_scalars: start, text: kept, end_scalars: end };
}

function upsert(items, key, item) {
  const known = items.some((other) => other[key] === item[key]);
  return known ? items.map((other) => (other[key] === item[key] ? item : other)) : [...items, item];
}

const without = (items, key, value) => items.filter((item) => item[key] !== value);

function delta(field) {
  return (state, data) => {
    const known = state.current_message;
    const same = known && ["run_id", "message_id", "attempt"].every((name) => known[name] === data[name]);
    const { run_id, message_id, attempt } = data;
    const message = same ? known : { run_id, message_id, attempt, text: EMPTY_TAIL, thinking: EMPTY_TAIL };
    const tail = extendTail(message[field], data.offset_scalars, data.text);
    return { current_message: { ...message, [field]: tail } };
  };
}

// The `tool_result` entry that a `tool` event stands for: result, images, and what is behind references.
export function resultEntry(data) {
  const { tool_call_id, progress_call_id, name, status, duration_ms } = data;
  const inline = data.result === null ? [] : [{ kind: "json", field: "result", value: data.result }];
  const references = (data.references ?? [data.reference]).filter((item) => item && item.field !== "arguments");
  return {
    id: data.entry_id,
    position: data.position,
    kind: "tool_result",
    run_id: data.run_id,
    created_at: data.created_at,
    content: [...inline, ...(data.images ?? []), ...references.map((reference) => ({ kind: "reference", reference }))],
    content_complete: data.result !== null,
    tool: { tool_call_id, progress_call_id, name, status, duration_ms },
  };
}

function grown(state, entry) {
  // Positions never repeat: what is not above the mark is known already.
  if (entry.position <= state.history.high_water) return state.history;
  return { ...state.history, items: [...state.history.items, entry], high_water: entry.position };
}

const RULES = {
  status: (state, data) => ({ status: data }),
  input(state, { input }) {
    let pending = without(state.pending_inputs, "id", input.id);
    if (input.state === "pending") pending = [...pending, input].sort((one, two) => one.order - two.order);
    return { pending_inputs: pending, input_order: Math.max(state.input_order, input.order) };
  },
  text: delta("text"),
  thinking: delta("thinking"),
  message(state, { entry }) {
    const current = state.current_message;
    const ended = current && entry.message_id === current.message_id;
    return { current_message: ended ? null : current, history: grown(state, entry) };
  },
  tool_progress: (state, { progress }) => ({
    current_progress: progress === null ? [] : upsert(state.current_progress, "call_id", progress),
  }),
  tool_output(state, data) {
    const known = state.current_output.find((item) => item.call_id === data.call_id) ?? EMPTY_TAIL;
    const tail = extendTail(known, data.offset_scalars, data.text);
    return { current_output: upsert(state.current_output, "call_id", { ...tail, call_id: data.call_id }) };
  },
  tool: (state, data) => ({
    current_progress: without(state.current_progress, "call_id", data.progress_call_id),
    current_output: without(state.current_output, "call_id", data.progress_call_id),
    history: grown(state, resultEntry(data)),
  }),
  approval: (state, { approval }) => ({
    pending_approvals:
      approval.state === "pending"
        ? upsert(state.pending_approvals, "id", approval)
        : without(state.pending_approvals, "id", approval.id),
  }),
  retry(state, data) {
    const current = state.current_message;
    const voided = current && current.run_id === data.run_id && current.attempt === data.attempt;
    return { current_message: voided ? null : current, current_progress: [] };
  },
  usage: (state, data) => ({ usage: data.usage }),
  turn_completed: () => ({ current_message: null, current_progress: [] }),
};

export function fold(state, event) {
  const rule = Object.hasOwn(RULES, event.type) ? RULES[event.type] : null;
  const changed = rule ? { ...state, ...rule(state, event.data) } : { ...state };
  changed.cursor = { ...state.cursor, sequence: event.sequence };
  return changed;
}

// What a batch makes of `state` (null before the first): {state, events, reset, gap}. A gap means that something
// is missing: the caller attaches again with the cursor of the state it gets back.
export function applyBatch(state, batch) {
  const reset = batch.events[0]?.type === "reset";
  if (reset && !batch.snapshot) return { state, events: [], reset: false, gap: true };
  if (!reset && (state === null || batch.generation !== state.cursor.generation)) {
    return { state, events: [], reset: false, gap: true };
  }
  let next = reset ? rebased(state, batch.snapshot) : state;
  const events = [];
  for (const event of reset ? batch.events.slice(1) : batch.events) {
    if (event.sequence <= next.cursor.sequence) continue;
    if (event.sequence !== next.cursor.sequence + 1) return { state: next, events, reset, gap: true };
    next = fold(next, event);
    events.push(event);
  }
  return { state: next, events, reset, gap: batch.cursor > next.cursor.sequence };
}

// A snapshot replaces everything; older history that was loaded stays where it joins on without a hole.
function rebased(state, snapshot) {
  const known = state?.history.items ?? [];
  const first = snapshot.history.items[0]?.position ?? snapshot.history.high_water + 1;
  const older = known.filter((entry) => entry.position < first);
  const joins = older.length > 0 && older[older.length - 1].position === first - 1;
  const items = joins ? [...older, ...snapshot.history.items] : snapshot.history.items;
  return { ...snapshot, history: { ...snapshot.history, items } };
}

// A page of older history put before what is known.
export function prepend(state, entries) {
  const first = state.history.items[0]?.position ?? Infinity;
  const fresh = entries.filter((entry) => entry.position < first);
  return { ...state, history: { ...state.history, items: [...fresh, ...state.history.items] } };
}
