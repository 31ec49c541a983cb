/**
 * Decides what the result of a tool call holds. It is the one place: the mark of a result, the fence that the model sees
 * and the marks of files that the call has changed follow from it.
 */

import { allMarks, foreignMarks, holdsBoth, joinMarks, type Marks, noMarks, privateMarks } from '#agent/core/marks.ts'
import { callsIn, type Message, type ToolMessage } from '#agent/core/message.ts'

export type MarkedCall = {
  readonly tool: string
  readonly input: unknown
  /** Held by the turn before the call. */
  readonly turn: Marks
  /** Of the files that the call names, or of all files for a call that may read any. */
  readonly files: Marks
  /** Reported by the tool itself: of what it has read elsewhere, and of the calls of a program. */
  readonly reported: Marks
  /** A command that prints what other hosts send. */
  readonly isFetching: boolean
}

type MarkRule = (call: MarkedCall) => Marks

const nothing: MarkRule = () => noMarks
const reported: MarkRule = (call) => call.reported
const files: MarkRule = ({ files: read, reported: more }) => joinMarks(read, more)
/** Output of commands repeats what the model has written into them. */
const command: MarkRule = (call) =>
  joinMarks(privateMarks, call.turn, call.files, call.reported, call.isFetching ? foreignMarks : undefined)
const tenantData: MarkRule = (call) => joinMarks(privateMarks, call.reported)

const rules: Readonly<Record<string, MarkRule>> = {
  todo: nothing,
  clarify: nothing,
  // Texts of tools that are approved and offered: the model reads the same in the schemas of a request.
  tool_search: nothing,
  tool_describe: nothing,
  tool_call: nothing,
  write_file: nothing,
  make_document: nothing,
  image_generate: nothing,
  video_generate: nothing,
  text_to_speech: nothing,
  checkpoint: nothing,
  // The answer comes later, with marks of its own.
  sessions_send: nothing,
  // Counts of files. The files themselves get all marks.
  restore: nothing,
  delegate_task: reported,
  skill_view: reported,
  skills_list: reported,
  skill_manage: reported,
  read_file: files,
  search_files: files,
  patch: files,
  terminal: command,
  process: command,
  execute_code: (call) => (isIsolate(call.input) ? joinMarks(call.turn, call.reported) : command(call)),
  vision_analyze: (call) => (isWebSource(call.input) ? foreignMarks : files(call)),
  video_analyze: (call) => (isWebSource(call.input) ? foreignMarks : files(call)),
  memory: tenantData,
  session_search: tenantData,
  learning: tenantData,
  cronjob: tenantData,
  send_message: tenantData,
  place_call: tenantData,
}

const prefixRules: readonly (readonly [RegExp, MarkRule])[] = [
  [/^(?:web_|browser_|request_handoff$)/, (call) => joinMarks(foreignMarks, call.reported)],
  // Foreign servers may return both.
  [/^mcp_/, () => allMarks],
  [/^ha_/, () => privateMarks],
]

/** An unknown tool may return anything. */
export function getResultMarks(call: MarkedCall): Marks {
  const rule = Object.hasOwn(rules, call.tool) ? rules[call.tool] : undefined
  if (rule) return rule(call)
  const matching = prefixRules.find(([pattern]) => pattern.test(call.tool))
  return matching ? matching[1](call) : allMarks
}

/** Tools whose calls change the files that they name. */
const writers: ReadonlySet<string> = new Set(['write_file', 'patch', 'make_document', 'text_to_speech', 'browser_pdf'])

/** Files that a call may have changed: those that it names, any, or none. */
export function getWriteReach(tool: string, input: unknown): 'named' | 'any' | 'none' {
  if (writers.has(tool)) return 'named'
  if (tool === 'terminal' || tool === 'process') return 'any'
  return tool === 'execute_code' && !isIsolate(input) ? 'any' : 'none'
}

/** Programs in an isolate read only by the tools that they call. */
const isIsolate = (input: unknown): boolean => readText(input, 'language') !== 'python'
/** The image or the video that a call looks at: an address or a path. */
export const sourceOf = (input: unknown): string =>
  (readText(input, 'image_url') || readText(input, 'video_url')).replace(/^MEDIA:\s?/, '')
const isWebSource = (input: unknown): boolean => /^https?:/i.test(sourceOf(input))

/** Returns the text field of an input; empty when there is none. */
export function readText(input: unknown, name: string): string {
  const value: unknown = typeof input === 'object' && input !== null ? (input as Record<string, unknown>)[name] : ''
  return typeof value === 'string' ? value : ''
}

/** Returns what a model reads with these messages. Undone messages are not among them. */
export function marksOfMessages(messages: readonly Message[]): Marks {
  const reader = new MarksReader()
  for (const message of messages) reader.read(message)
  return reader.marks
}

/** Joins the marks of messages in the order in which a model reads them. */
export class MarksReader {
  marks: Marks = noMarks
  /** Of calls whose results are still to come. */
  readonly #inputs = new Map<string, unknown>()

  read(message: Message): void {
    if (holdsBoth(this.marks)) return
    if (message.role === 'assistant') for (const call of callsIn(message)) this.#inputs.set(call.id, call.input)
    const input = message.role === 'tool' ? this.#inputs.get(message.callId) : undefined
    const marks = marksOfMessage(message, input)
    if (marks.isForeign !== this.marks.isForeign || marks.isPrivate !== this.marks.isPrivate)
      this.marks = joinMarks(this.marks, marks)
  }
}

/** `input`: of the call that a result belongs to, for results that are older than marks. */
export function marksOfMessage(message: Message, input?: unknown): Marks {
  switch (message.role) {
    case 'user':
      return joinMarks(
        message.marks ?? defaultOf(message.source),
        message.state?.marks,
        message.recalled === undefined ? noMarks : allMarks,
      )
    case 'assistant':
      // A provider that searched has no results in the transcript.
      return message.content.some((part) => part.type === 'thinking' && part.search !== undefined)
        ? joinMarks(message.marks, foreignMarks)
        : (message.marks ?? noMarks)
    case 'tool':
      return message.marks ?? guessMarks(message, input)
  }
}

/** Marks what a client repeats of a conversation: nobody here knows what its answers and results were made of. */
export const markRepeated = <M extends Message>(message: M): M =>
  message.role === 'user' ? message : { ...message, marks: allMarks }

/** Messages without marks that the system wrote are older than marks, and what they were made of is not known. */
function defaultOf(source: Extract<Message, { role: 'user' }>['source']): Marks {
  if (source === 'webhook') return foreignMarks
  return source === 'summary' || source === 'subagent' || source === 'process' || source === 'job' ? allMarks : noMarks
}

/** The safe reading of a result that is older than marks. */
function guessMarks({ name, nonce }: ToolMessage, input: unknown): Marks {
  const isOpen = name === 'delegate_task' || name === 'execute_code' || name.startsWith('skill')
  const unknown = { turn: noMarks, files: allMarks, reported: isOpen ? allMarks : noMarks, isFetching: true }
  return joinMarks(
    getResultMarks({ tool: name, input, ...unknown }),
    nonce === undefined ? undefined : foreignMarks,
    name === 'memory' || name === 'session_search' ? allMarks : undefined,
  )
}
