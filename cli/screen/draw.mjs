/** Draws the full-screen chat: its head, the transcript, what waits for the person, the field, and a line of keys. */

import { describeRule } from '../ask.mjs'
import { plain } from '../output.mjs'
import { accent, dim, warn } from './markdown.mjs'
import { renderTranscript, targetOf } from './transcript.mjs'
import { clip, splitCells, widthOf, wrap } from './width.mjs'

const maxFieldLines = 8
const maxAskLines = 12

/** Returns the lines of the screen, where the caret is, and how far the transcript is scrolled from its end. */
export function drawScreen(view, { rows, columns }) {
  const width = Math.max(20, columns)
  const others = view.transcript.state.waiting.length ? maxAskLines : 8
  const { lines: field, caret } = drawField(view.field, width, Math.max(1, Math.min(maxFieldLines, rows - others)))
  // The head, the keys, and a line of the transcript.
  const left = Math.max(4, Math.min(maxAskLines + 1, rows - field.length - 3))
  const bottom = view.picker ? drawPicker(view.picker, width, left) : drawAsk(view, width, left)
  const room = Math.max(1, rows - 2 - bottom.length - field.length)
  const all = view.picker ? [] : renderTranscript(view.transcript.state, width)
  const lastTop = Math.max(0, all.length - room)
  // Somebody who reads above keeps the place while an answer grows.
  const top = Math.max(0, Math.min(lastTop, (view.scroll && view.lastTop ? view.lastTop : lastTop) - view.scroll))
  const shown = all.slice(top, top + room)
  const body = [...Array.from({ length: room - shown.length }, () => ''), ...shown]
  const lines = [drawHead(view, width), ...body, ...bottom, ...field, drawKeys(view, width, lastTop - top)]
  return {
    lines: lines.slice(0, rows),
    caret: { row: 1 + room + bottom.length + caret.row, column: caret.column },
    lastTop,
    scroll: lastTop - top,
  }
}

function drawHead({ title, model, transcript, isAway }, width) {
  const state = isAway ? ' ● no connection' : transcript.state.run === undefined ? '' : ' ● answering'
  const text = clip(plain([title, model].filter(Boolean).join(' · ')), width - state.length - 1)
  return accent(text) + warn(state)
}

function drawField({ text, caret }, width, most) {
  const inner = width - 2
  const lines = text.split('\n').flatMap((line) => splitCells(line, inner))
  const start = caret ? text.lastIndexOf('\n', caret - 1) + 1 : 0
  const above = start
    ? text
        .slice(0, start - 1)
        .split('\n')
        .flatMap((line) => splitCells(line, inner)).length
    : 0
  const before = splitCells(text.slice(start, caret), inner)
  const row = above + before.length - 1
  const from = Math.max(0, Math.min(lines.length - most, row - most + 1))
  const shown = lines.slice(from, from + most)
  return {
    lines: [dim('─'.repeat(width)), ...shown.map((line, at) => `${at + from ? ' ' : accent('›')} ${line}`)],
    caret: { row: 1 + row - from, column: 2 + widthOf(before.at(-1) ?? '') },
  }
}

/** A long text is cut above the choices, which always stand on the screen. */
function drawAsk({ transcript, field }, width, most) {
  const [first] = transcript.state.waiting
  if (!first) return []
  const [about, choices] =
    first.question === undefined
      ? [describeApproval(first, width), describeDecisions(first, field, width)]
      : [wrap(warn(plain(first.question)), width), describeAnswers(first, width)]
  const kept = choices.slice(-Math.max(1, most - 2))
  const room = Math.max(1, most - 1 - kept.length)
  const shown =
    about.length > room
      ? [
          ...about.slice(0, room - 1),
          dim(clip(`… ${about.length - room + 1} more lines: talaria approve shows all`, width)),
        ]
      : about
  return [warn('─'.repeat(width)), ...shown, ...kept]
}

const describeApproval = ({ tool, input, reasons = [] }, width) => [
  ...wrap(warn(`Allow ${plain(tool)}?`), width),
  ...plain(targetOf(input))
    .split('\n')
    .flatMap((line) => wrap(`  ${line}`, width, '  ')),
  ...reasons.flatMap((reason) => wrap(dim(`  ${plain(reason)}`), width, '  ')),
]

/** The keys that decide while the field is empty. */
export const decisionKeys = { once: 'o', session: 's', always: 'a', deny: 'd' }

const describeDecisions = ({ tool, rule, choices }, { text }, width) => [
  ...(rule === undefined
    ? []
    : wrap(dim(`  session and always allow ${plain(describeRule(tool, rule))}`), width, '  ')),
  // A key and its name stay together.
  ...wrap(choices.map((name) => `[${decisionKeys[name]}]\u00a0${name}`).join('  '), width),
  ...(text ? [dim(clip('The keys decide while the field is empty.', width))] : []),
]

const describeAnswers = ({ choices = [] }, width) => [
  ...choices.flatMap((choice, at) => wrap(`  ${at + 1}. ${plain(choice)}`, width, '     ')),
  dim(clip(choices.length ? 'Press a number, or write an answer.' : 'Write an answer.', width)),
]

/** A line, the title, and the items around the chosen one. */
function drawPicker({ items, at, title }, width, most) {
  const count = Math.max(1, most - 2)
  const from = Math.max(0, Math.min(items.length - count, at - count + 1))
  const rows = items.slice(from, from + count).map(({ name }, index) => {
    const line = clip(plain(name), width - 3)
    return index + from === at ? accent(`› ${line}`) : `  ${line}`
  })
  return [dim('─'.repeat(width)), title, ...(rows.length ? rows : [dim('  Nothing.')])]
}

const keys = {
  picker: ['↑↓ choose', 'Enter takes', 'Esc back'],
  idle: ['Enter sends', 'Alt+Enter new line', '@ files', 'Ctrl+R sessions', 'Ctrl+D leaves'],
  running: ['Enter steers', 'PgUp PgDn scroll', 'Esc stops'],
}

/** On a narrow terminal keys in the middle are left out, so that the first and the last one can be read. */
function drawKeys({ transcript, picker }, width, below) {
  const wanted = keys[picker ? 'picker' : transcript.state.run === undefined ? 'idle' : 'running']
  const all = below > 0 ? [`${below} lines below`, ...wanted] : [...wanted]
  while (all.length > 2 && widthOf(all.join(' · ')) > width) all.splice(-2, 1)
  return dim(clip(all.join(' · '), width))
}
