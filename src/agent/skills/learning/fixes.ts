/**
 * Finds failures of tools that the same conversation has fixed: a call failed, and a later call of the same kind did what
 * it should. The fix is what was called in between, and what was changed.
 */

import type { GivenFix } from '#agent/core/recall/learnings.ts'
import { callsIn, type Message, textIn, type ToolCallPart, type ToolMessage } from '#agent/core/message.ts'

export type Fix = {
  /** The same for failures that differ only in numbers, paths and quoted names. */
  readonly signature: string
  readonly tool: string
  /** The last line of the error, shortened. */
  readonly error: string
  /** The call that failed. */
  readonly failed: string
  /** The calls that led to success, in order. */
  readonly fix: string
}

const maxSignatureChars = 200
const maxErrorChars = 200
const maxInputChars = 300
const maxFixChars = 2_000
/** Calls between a failure and the success that fixes it. More of them are another piece of work. */
const maxBetween = 4
const maxFixesPerTurn = 5

type NamedCall = Pick<ToolCallPart, 'id' | 'name' | 'input'>
type Done = { readonly call: NamedCall; readonly result: ToolMessage; readonly error: string | undefined }

/** The messages since the last one that a person wrote. */
export function listTurnMessages(transcript: readonly Message[]): readonly Message[] {
  const isTyped = (message: Message) => message.role === 'user' && message.source === undefined
  return transcript.slice(Math.max(0, transcript.findLastIndex(isTyped)))
}

export function findFixes(messages: readonly Message[]): readonly Fix[] {
  const done = listCalls(messages)
  const fixes = done.flatMap((failed, i) => {
    if (failed.error === undefined) return []
    const later = done.slice(i + 1, i + 2 + maxBetween)
    const at = later.findIndex((one) => one.error === undefined && isSameWork(failed.call, one.call))
    const success = later[at]
    if (!success) return []
    const between = later.slice(0, at).filter(({ error }) => error === undefined)
    const isChanged = renderInput(success.call) !== renderInput(failed.call)
    // The same call that works the second time was not fixed by anything.
    if (!isChanged && between.length === 0) return []
    const steps = [...between.map(({ call }) => renderCall(call)), renderCall(success.call)]
    return [
      {
        signature: parseSignature(failed.call, failed.error),
        tool: failed.call.name,
        error: failed.error.slice(0, maxErrorChars),
        failed: renderCall(failed.call),
        fix: steps.join('\n'),
      },
    ]
  })
  const unique = new Map(fixes.map((fix) => [fix.signature, fix]))
  return [...unique.values()].slice(0, maxFixesPerTurn)
}

/** A fix that somebody describes. With its tool and its command it is offered when the same failure returns. */
export function createFix({ error, fix, tool, failed = '' }: GivenFix, redact: (text: string) => string): Fix {
  const call = { id: '', name: tool?.trim() || 'any', input: { command: redact(failed.trim()) } }
  const line = lastLineOf(redact(error)) ?? ''
  return {
    signature: parseSignature(call, line),
    tool: call.name,
    error: line.slice(0, maxErrorChars),
    failed: call.input.command.slice(0, maxInputChars),
    fix: redact(fix.trim()).slice(0, maxFixChars),
  }
}

/** Whether two signatures of the same tool have most of their words in common. */
export function areAlike(one: string, other: string): boolean {
  const [words, others] = [new Set(one.split(' ')), new Set(other.split(' '))]
  const common = [...words].filter((word) => others.has(word)).length
  return common >= 0.7 * (words.size + others.size - common)
}

/** The signature of a failed call. Undefined when it did not fail, or says nothing about why. */
export function getFailureSignature(call: NamedCall, result: ToolMessage): string | undefined {
  const error = getError(result)
  return error === undefined ? undefined : parseSignature(call, error)
}

function listCalls(messages: readonly Message[]): readonly Done[] {
  const calls = new Map(
    messages.flatMap((message) => (message.role === 'assistant' ? callsIn(message).map((one) => [one.id, one]) : [])),
  )
  return messages.flatMap((message) => {
    const call = message.role === 'tool' ? calls.get(message.callId) : undefined
    return call && message.role === 'tool' ? [{ call, result: message, error: getError(message) }] : []
  })
}

/** The last line that says something: of `error`, else of the output of a command with another exit code than 0. */
function getError(message: ToolMessage): string | undefined {
  const text = textIn(message)
  // Most results succeed: they are not parsed.
  if (!message.failed && !text.includes('"exit_code"')) return undefined
  const { error, exit_code: exitCode, output, status } = parseObject(text)
  if (status === 'refused' || status === 'denied') return undefined
  const isExit = typeof exitCode === 'number' && exitCode > 0
  if (!message.failed && !isExit) return undefined
  const said = [error, output, text].find((one) => typeof one === 'string' && one.trim() !== '') as string | undefined
  return said && lastLineOf(said)
}

const lastLineOf = (text: string): string | undefined =>
  text
    .trim()
    .slice(-maxErrorChars * 4)
    .split('\n')
    .findLast((line) => line.trim() !== '')
    ?.trim()

function parseObject(text: string): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}
  } catch {
    // The text of a tool that answers without JSON.
    return {}
  }
}

/** Replaces what differs from case to case: quoted names, paths and numbers. */
function parseSignature(call: NamedCall, error: string): string {
  const words = error
    .slice(0, maxErrorChars)
    .replace(/["'`“][^"'`“”]{1,80}["'`”]/g, '"…"')
    .split(/\s+/)
    .map((word) => (word.includes('/') ? '/…' : word.replace(/\d+/g, '#')))
  return `${call.name} ${parseProgram(call)} ${words.join(' ').toLowerCase()}`.slice(0, maxSignatureChars)
}

/** The program of a command, without assignments before it. */
function parseProgram({ input }: NamedCall): string {
  const command = typeof input === 'object' && input !== null && 'command' in input ? input.command : undefined
  if (typeof command !== 'string') return ''
  const words = command.slice(0, maxInputChars).split(/\s+/)
  return words.find((word) => word !== '' && !/^\w+=/.test(word)) ?? ''
}

/** Calls of the same tool do the same work when their inputs share half of their words; commands need the same program. */
function isSameWork(one: NamedCall, other: NamedCall): boolean {
  if (one.name !== other.name || parseProgram(one) !== parseProgram(other)) return false
  const [words, others] = [parseWords(one), parseWords(other)]
  const common = [...words].filter((word) => others.has(word)).length
  return common * 2 >= Math.min(words.size, others.size)
}

const parseWords = (call: NamedCall): ReadonlySet<string> =>
  new Set(
    renderInput(call)
      .slice(0, 2_000)
      .toLowerCase()
      .match(/[\p{L}\p{N}_.-]+/gu) ?? [],
  )

const renderInput = ({ input }: NamedCall): string => JSON.stringify(input) ?? ''

function renderCall(call: NamedCall): string {
  const input = renderInput(call)
  return `${call.name} ${input.length > maxInputChars ? `${input.slice(0, maxInputChars)}…` : input}`
}
