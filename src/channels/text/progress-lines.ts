/** Renders what a running turn does as a few lines: one for each call of a tool, and the end of what it prints. */

import { maskSecrets } from '#agent/core/secrets/mask-secrets.ts'
import type { ProgressMode } from '../settings.ts'

type ProgressLine = {
  readonly id: string
  readonly tool: string
  readonly input: string
  readonly printed: string
  readonly state: LineState
}
/** `note`: no call, but what was decided about one. `lost`: nothing tells its end, because it began before a restart. */
type LineState = 'running' | 'done' | 'failed' | 'note' | 'lost'

/** The calls of a turn so far, oldest first. `hidden`: earlier ones that are not shown any more. */
export type ProgressLines = { readonly lines: readonly ProgressLine[]; readonly hidden: number }

export const noProgress: ProgressLines = { lines: [], hidden: 0 }

/** The events of calls, as the session publishes them. */
export type CallEvent =
  | { readonly type: 'tool.started'; readonly call_id: string; readonly tool: string; readonly input: unknown }
  | { readonly type: 'tool.progress'; readonly call_id: string; readonly tool: string; readonly delta: string }
  | { readonly type: 'tool.completed'; readonly call_id: string; readonly tool: string; readonly failed: boolean }

const maxLines = 10
const maxInputChars = 100
const maxPrintedChars = 400
const maxPrintedLines = 3

export function addCall(progress: ProgressLines, event: CallEvent): ProgressLines {
  switch (event.type) {
    case 'tool.started':
      return started(progress, event)
    case 'tool.progress':
      return change(progress, event.call_id, (line) => ({
        ...line,
        printed: `${line.printed}${event.delta}`.slice(-maxPrintedChars),
      }))
    case 'tool.completed':
      return change(progress, event.call_id, (line) => ({
        ...line,
        printed: '',
        state: event.failed ? 'failed' : 'done',
      }))
  }
}

/** A call that was allowed begins a second time, also where its first beginning is known by its text alone. */
function started(progress: ProgressLines, event: Extract<CallEvent, { type: 'tool.started' }>): ProgressLines {
  const { call_id: id, tool } = event
  if (progress.lines.some((line) => line.id === id && line.state === 'running')) return progress
  const line = { id, tool, input: describeInput(event.input), printed: '', state: 'running' } as const
  const before = progress.lines.findLastIndex((one) => one.state === 'lost' && one.tool === describeCall(line))
  return before < 0 ? append(progress, line) : { ...progress, lines: progress.lines.with(before, line) }
}

/** Begins with the lines of a message that was shown before a restart. */
export function continueFrom(text: string, later: ProgressLines): ProgressLines {
  const [, hidden = ''] = /^… (\d{1,9}) earlier(?:\n|$)/.exec(text) ?? []
  const lines = text.split('\n').slice(hidden ? 1 : 0)
  const shown = lines.filter(Boolean).map((one) => restoreLine(one.replace(/^▸ /, ''), one))
  return [...shown, ...later.lines].reduce(append, { lines: [], hidden: Number(hidden) + later.hidden })
}

const restoreLine = (call: string, text: string): ProgressLine => ({
  id: '',
  tool: call,
  input: '',
  printed: '',
  state: call === text ? 'note' : 'lost',
})

/** Adds a line about a decision. */
export const addNote = (progress: ProgressLines, text: string): ProgressLines =>
  append(progress, { id: '', tool: text, input: '', printed: '', state: 'note' })

function append({ lines, hidden }: ProgressLines, line: ProgressLine): ProgressLines {
  const all = [...lines, line]
  return { lines: all.slice(-maxLines), hidden: hidden + Math.max(0, all.length - maxLines) }
}

const change = (
  { lines, hidden }: ProgressLines,
  id: string,
  to: (line: ProgressLine) => ProgressLine,
): ProgressLines => ({
  lines: lines.map((line) => (line.id === id ? to(line) : line)),
  hidden,
})

/** The first text among the arguments says most: a command, a path or a query. Others may read along. */
function describeInput(input: unknown): string {
  if (typeof input !== 'object' || input === null) return ''
  const [text = ''] = Object.values(input).filter((value) => typeof value === 'string')
  return cut(maskSecrets(text).replace(/\s+/g, ' ').trim(), maxInputChars)
}

const cut = (text: string, max: number): string =>
  text.length > max ? `${text.slice(0, max - 1).replace(/[\uD800-\uDBFF]$/, '')}…` : text

const marks: Readonly<Record<LineState, string>> = { running: '▸ ', done: '✓ ', failed: '✗ ', note: '', lost: '• ' }

/** Empty while there is nothing to show. */
export function renderProgress({ lines, hidden }: ProgressLines, mode: ProgressMode): string {
  if (mode === 'off' || !lines.length) return ''
  if (mode === 'new')
    return [...new Set(lines.map(({ tool, state }) => (state === 'note' ? tool : `▸ ${tool}`)))].join('\n')
  const shown = lines.flatMap((line) => renderLine(line, mode === 'verbose'))
  return [...(hidden ? [`… ${hidden} earlier`] : []), ...shown].join('\n')
}

const describeCall = ({ tool, input }: Pick<ProgressLine, 'tool' | 'input'>): string =>
  `${tool}${input ? `: ${input}` : ''}`

function renderLine(line: ProgressLine, isVerbose: boolean): readonly string[] {
  const { printed, state } = line
  const head = `${marks[state]}${describeCall(line)}`
  if (!isVerbose) return [head]
  const last = maskSecrets(printed)
    .split('\n')
    .filter((one) => one.trim() !== '')
    .slice(-maxPrintedLines)
  return [head, ...last.map((one) => `    ${cut(one.trimEnd(), maxInputChars)}`)]
}
