/** Gathers events and messages of a session as the entries of a transcript, and renders them. */

import { plain } from '../output.mjs'
import { bad, dim, good, accent, renderMarkdown, warn } from './markdown.mjs'
import { clip, wrap } from './width.mjs'

const ends = { 'run.completed': 'completed', 'run.failed': 'failed', 'run.cancelled': 'stopped' }

export function createTranscript() {
  const entries = []
  const state = { run: undefined, waiting: [], entries }
  const reducers = createReducers(state)
  return {
    state,
    add(event) {
      reducers[event.type]?.(event)
      if (!ends[event.type]) return
      if (state.run === event.run_id) state.run = undefined
      state.waiting.splice(0, state.waiting.length, ...state.waiting.filter((one) => one.run_id !== event.run_id))
      if (event.type !== 'run.completed') entries.push({ kind: 'note', text: event.error ?? ends[event.type] })
    },
    addMessage: (message) => addMessage(entries, message),
    send: (text) => entries.push({ kind: 'person', text, isSending: true }),
    note: (text) => entries.push({ kind: 'note', text }),
  }
}

function createReducers(state) {
  const { entries, waiting } = state
  return {
    'run.started': (event) => {
      state.run = event.run_id
      const isShown = entries.some((one) => one.kind === 'person' && (one.run === event.run_id || one.isSending))
      if (!isShown && event.input) entries.push({ kind: 'person', run: event.run_id, text: withoutFiles(event.input) })
      for (const one of entries) if (one.isSending) Object.assign(one, { isSending: false, run: event.run_id })
    },
    'message.delta': ({ run_id: run, step, delta }) => {
      const last = entries.at(-1)
      if (last?.kind === 'answer' && last.run === run && last.step === step) last.text += delta
      else entries.push({ kind: 'answer', run, step, text: delta })
    },
    'tool.started': (event) =>
      entries.push({ kind: 'call', id: callOf(event), tool: event.tool, input: event.input, state: 'running' }),
    'tool.completed': ({ failed, duration_ms: ms, preview: result, ...event }) => {
      const call = entries.findLast(({ id }) => id === callOf(event))
      if (call) Object.assign(call, { state: failed ? 'failed' : 'done', ms, result })
    },
    'run.steered': (event) => {
      const sent = entries.find((one) => one.isSending && one.text === event.input)
      if (sent) sent.isSending = false
      else entries.push({ kind: 'person', run: event.run_id, text: event.input })
    },
    'turn.restarted': (event) => {
      const kept = entries.filter((one) => one.kind !== 'answer' || one.run !== event.run_id)
      entries.splice(0, entries.length, ...kept)
    },
    'approval.request': (event) => waiting.push({ ...event, id: event.approval_id }),
    'question.request': (event) => waiting.push({ ...event, id: event.question_id }),
    'approval.responded': ({ approval_id: id }) => drop(waiting, id),
    'question.answered': ({ question_id: id }) => drop(waiting, id),
  }
}

function addMessage(entries, message) {
  const { role, run_id: run, tool_calls: calls } = message
  const text = textOf(message)
  if (role === 'user') entries.push({ kind: 'person', run, text: withoutFiles(text) })
  if (role === 'tool') markFailed(entries, message, text)
  if (role !== 'assistant') return
  if (text) entries.push({ kind: 'answer', run, text })
  for (const { id, function: call } of calls ?? [])
    entries.push({ kind: 'call', run, id, tool: call.name, input: parse(call.arguments), state: 'done' })
}

/** Names attached files. Their text is for the model. */
const withoutFiles = (text) =>
  text
    .replaceAll(/\n*\[([^\n]{1,500}) contains:\]\n[\s\S]*?\n\[End of \1\]/g, '')
    .replaceAll(/\[Attached file: ([^\n]{1,500})\]/g, '+ $1')

function markFailed(entries, { run_id: run, tool_call_id: id }, text) {
  const call = entries.findLast((one) => one.kind === 'call' && one.id === id && one.run === run)
  if (call && /"(?:error"\s*:\s*"|status"\s*:\s*"denied)/.test(text))
    Object.assign(call, { state: 'failed', result: text })
}

const callOf = ({ run_id: run, step, call_id: call }) => [run, step, call].join('.')

function drop(list, id) {
  const at = list.findIndex((one) => one.id === id)
  if (at >= 0) list.splice(at, 1)
}

function parse(text) {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

const textOf = ({ content }) =>
  Array.isArray(content) ? content.map((part) => part.text ?? '[picture]').join('') : (content ?? '')

/** Describes a call in one line. */
export function targetOf(input) {
  if (typeof input !== 'object' || input === null) return String(input ?? '')
  const named = ['command', 'path', 'query', 'pattern', 'url', 'goal', 'question', 'name'].find((name) => input[name])
  return named ? String(input[named]) : JSON.stringify(input)
}

/** Entries do not change once another follows, so their lines are kept by width. */
const drawn = new WeakMap()

export function renderTranscript({ entries }, width) {
  return entries.flatMap((entry, at) => {
    const mark = JSON.stringify([width, entry.text?.length, entry.state, entry.isSending])
    const kept = drawn.get(entry)
    if (kept?.mark === mark && at < entries.length - 1) return kept.lines
    const lines = render(entry, width)
    drawn.set(entry, { mark, lines })
    return lines
  })
}

/** Previews of results are cut, so they may be no JSON any more. */
const reasonOf = (result) => /"error":\s*"((?:[^"\\]|\\.)*)/.exec(result)?.[1] ?? result

const marks = { running: () => warn('●'), done: () => good('✓'), failed: () => bad('✗') }

function render({ kind, text = '', tool, input, state, ms, result, isSending }, width) {
  switch (kind) {
    case 'person':
      return [
        '',
        ...plain(text)
          .split('\n')
          .flatMap((line, at) => wrap(`${accent(at ? ' ' : '›')} ${isSending ? dim(line) : line}`, width, '  ')),
      ]
    case 'answer':
      return ['', ...renderMarkdown(plain(text), width)]
    case 'call': {
      const time = ms === undefined ? '' : ` ${(ms / 1_000).toFixed(1)} s`
      const about = clip(plain(targetOf(input)).replaceAll(/\s+/g, ' '), Math.max(10, width - plain(tool).length - 14))
      const line = `${marks[state]()} ${plain(tool)} ${dim(about + time)}`
      const why =
        state === 'failed' && result
          ? [bad(`  ${clip(plain(reasonOf(result)).replaceAll(/\s+/g, ' '), width - 2)}`)]
          : []
      return [line, ...why]
    }
    default:
      return ['', ...wrap(warn(plain(text)), width)]
  }
}
