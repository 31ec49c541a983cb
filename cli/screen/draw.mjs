/** Draws the full-screen chat: its head, the transcript, what waits for the person, the field, and a line of keys. */

import { describeRule } from '../ask.mjs'
import { plain } from '../output.mjs'
import { accent, dim, warn } from './markdown.mjs'
import { renderTranscript, targetOf } from './transcript.mjs'
import { clip, widthOf, wrap } from './width.mjs'

const maxFieldLines = 8
const maxAskLines = 12

/** Returns the lines of the screen, and where the caret is. */
export function drawScreen(view, { rows, columns }) {
  const width = Math.max(20, columns)
  const bottom = [...drawAsk(view, width), ...drawPicker(view, width)]
  const { lines: field, caret } = drawField(view.field, width)
  const room = Math.max(1, rows - 2 - bottom.length - field.length)
  const all = view.picker ? [] : renderTranscript(view.transcript.state, width)
  const lastTop = Math.max(0, all.length - room)
  const top = Math.max(0, lastTop - view.scroll)
  const shown = all.slice(top, top + room)
  const body = [...Array.from({ length: room - shown.length }, () => ''), ...shown]
  const lines = [drawHead(view, width), ...body, ...bottom, ...field, drawKeys(view, width, lastTop - top)]
  return {
    lines: lines.slice(0, rows),
    caret: { row: 1 + room + bottom.length + caret.row, column: caret.column },
    lastTop,
  }
}

function drawHead({ title, model, transcript }, width) {
  const state = transcript.state.run === undefined ? '' : ' ● answering'
  const text = clip(plain([title, model].filter(Boolean).join(' · ')), width - state.length - 1)
  return accent(text) + warn(state)
}

function drawField({ text, caret }, width) {
  const inner = width - 2
  const lines = text.split('\n').flatMap((line) => splitCells(line, inner))
  const before = text
    .slice(0, caret)
    .split('\n')
    .flatMap((line) => splitCells(line, inner))
  const row = before.length - 1
  const from = Math.max(0, Math.min(lines.length - maxFieldLines, row - maxFieldLines + 1))
  const shown = lines.slice(from, from + maxFieldLines)
  return {
    lines: [dim('─'.repeat(width)), ...shown.map((line, at) => `${at + from ? ' ' : accent('›')} ${line}`)],
    caret: { row: 1 + row - from, column: 2 + widthOf(before.at(-1) ?? '') },
  }
}

/** Breaks a line by cells, so that the caret stands where its text is. */
function splitCells(line, width) {
  const lines = ['']
  for (const { segment } of new Intl.Segmenter().segment(line)) {
    if (widthOf(lines.at(-1)) + widthOf(segment) > width) lines.push('')
    lines[lines.length - 1] += segment
  }
  return lines
}

function drawAsk({ transcript }, width) {
  const [first] = transcript.state.waiting
  if (!first) return []
  const lines = first.question === undefined ? describeApproval(first, width) : describeQuestion(first, width)
  const shown = lines.length > maxAskLines ? [...lines.slice(0, maxAskLines - 1), dim('…')] : lines
  return [warn('─'.repeat(width)), ...shown]
}

const describeApproval = ({ tool, input, reasons = [], rule, choices }, width) => [
  ...wrap(warn(`Allow ${plain(tool)}?`), width),
  ...plain(targetOf(input))
    .split('\n')
    .flatMap((line) => wrap(`  ${line}`, width, '  ')),
  ...reasons.flatMap((reason) => wrap(dim(`  ${plain(reason)}`), width, '  ')),
  ...(rule === undefined
    ? []
    : wrap(dim(`  session and always allow ${plain(describeRule(tool, rule))}`), width, '  ')),
  choices.map((name) => `[${decisionKeys[name]}] ${name}`).join('  '),
]

/** The keys that decide while the field is empty. */
export const decisionKeys = { once: 'o', session: 's', always: 'a', deny: 'd' }

const describeQuestion = ({ question, choices = [] }, width) => [
  ...wrap(warn(plain(question)), width),
  ...choices.flatMap((choice, at) => wrap(`  ${at + 1}. ${plain(choice)}`, width, '     ')),
  dim(choices.length ? 'Press a number, or write an answer.' : 'Write an answer.'),
]

function drawPicker({ picker }, width) {
  if (!picker) return []
  const { items, at, title } = picker
  const from = Math.max(0, Math.min(items.length - maxAskLines, at - maxAskLines + 1))
  const rows = items.slice(from, from + maxAskLines).map(({ name }, index) => {
    const line = clip(plain(name), width - 3)
    return index + from === at ? accent(`› ${line}`) : `  ${line}`
  })
  return [dim('─'.repeat(width)), title, ...(rows.length ? rows : [dim('  Nothing.')])]
}

function drawKeys({ transcript, picker }, width, below) {
  const keys = picker
    ? '↑↓ choose · Enter takes · Esc back'
    : transcript.state.run === undefined
      ? 'Enter sends · Alt+Enter new line · @ files · Ctrl+R sessions · Ctrl+D leaves'
      : 'Enter steers · Esc stops · PgUp PgDn scroll'
  return dim(clip(below > 0 ? `${below} lines below · ${keys}` : keys, width))
}
