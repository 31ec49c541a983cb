/** The field of the full-screen chat: text, caret, and the messages before. It returns new fields and changes none. */

export const emptyField = { text: '', caret: 0, at: undefined, kept: '' }

const put = (field, added) => ({
  ...field,
  at: undefined,
  text: field.text.slice(0, field.caret) + added + field.text.slice(field.caret),
  caret: field.caret + added.length,
})
const cut = (field, from, to) => ({
  ...field,
  at: undefined,
  text: field.text.slice(0, from) + field.text.slice(to),
  caret: from,
})

const segmenter = new Intl.Segmenter()
/** The caret goes over whole characters, as a family of emoji is one. */
function before({ text, caret }) {
  const last = [...segmenter.segment(text.slice(0, caret))].at(-1)
  return last ? last.index : 0
}
function after({ text, caret }) {
  const [first] = segmenter.segment(text.slice(caret))
  return caret + (first ? first.segment.length : 0)
}
const wordBefore = ({ text, caret }) => text.slice(0, caret).replace(/\S+\s*$|\s+$/u, '').length
const lineStart = ({ text, caret }) => (caret ? text.lastIndexOf('\n', caret - 1) + 1 : 0)
function lineEnd({ text, caret }) {
  const end = text.indexOf('\n', caret)
  return end < 0 ? text.length : end
}

const moves = {
  left: (field) => ({ ...field, caret: before(field) }),
  right: (field) => ({ ...field, caret: after(field) }),
  home: (field) => ({ ...field, caret: lineStart(field) }),
  end: (field) => ({ ...field, caret: lineEnd(field) }),
  backspace: (field) => cut(field, before(field), field.caret),
  delete: (field) => cut(field, field.caret, after(field)),
}
const controlled = {
  a: moves.home,
  e: moves.end,
  b: moves.left,
  f: moves.right,
  h: moves.backspace,
  j: (field) => put(field, '\n'),
  k: (field) => cut(field, field.caret, lineEnd(field)),
  u: (field) => cut(field, lineStart(field), field.caret),
  w: (field) => cut(field, wordBefore(field), field.caret),
}

const steps = { up: -1, down: 1 }
export const isEnter = (name) => name === 'return' || name === 'enter'

/** Returns undefined for keys that are not of the field. `history`: oldest first. */
export function pressKey(field, text, { name, ctrl, meta }, history) {
  const step = steps[name]
  if (step) return moveLine(field, step) ?? recall(field, step, history)
  if (meta && isEnter(name)) return put(field, '\n')
  if (ctrl) return controlled[name]?.(field)
  if (meta) return undefined
  if (moves[name]) return moves[name](field)
  // eslint-disable-next-line no-control-regex
  return text && !/[\u0000-\u001f\u007f]/.test(text) ? put(field, text) : undefined
}

export const paste = (field, text) => put(field, text.replaceAll(/\r\n?/g, '\n'))

/** Returns undefined in the first line upwards, and in the last one downwards. */
function moveLine(field, step) {
  const { text, caret } = field
  const edge = step < 0 ? lineStart(field) - 1 : lineEnd(field) + 1
  if (edge < 0 || edge > text.length) return undefined
  const to = { text, caret: edge }
  const column = [...segmenter.segment(text.slice(lineStart(field), caret))].length
  const line = [...segmenter.segment(text.slice(lineStart(to), lineEnd(to)))].slice(0, column)
  return { ...field, caret: lineStart(to) + line.reduce((sum, { segment }) => sum + segment.length, 0) }
}

/** Steps through the messages that have the typed text, else through all. It comes back behind the newest one. */
function recall(field, step, history) {
  const kept = field.at === undefined ? field.text : field.kept
  const includes = (text) => text.toLowerCase().includes(kept.toLowerCase())
  const has = history.some(includes) ? (text) => text !== field.text && includes(text) : () => true
  let at = (field.at ?? history.length) + step
  while (at >= 0 && at < history.length && !has(history[at])) at += step
  if (at < 0 || at > history.length) return field
  const text = at === history.length ? kept : history[at]
  return { text, caret: text.length, at: at === history.length ? undefined : at, kept }
}

/** The path behind an @ at the caret, and where it begins. A quote begins one with spaces. */
export function findMention({ text, caret }) {
  const [, written] = /(?:^|\s)@("[^"\n]*|[^\s@"]*)$/u.exec(text.slice(0, caret)) ?? []
  return written === undefined ? undefined : { path: written.replace(/^"/, ''), from: caret - written.length }
}

/** The quote of a folder stays open for what is in it. */
export function complete(field, { from }, path) {
  const written = /\s/u.test(path) ? `"${path}${path.endsWith('/') ? '' : '"'}` : path
  return put(cut(field, from, field.caret), written)
}
