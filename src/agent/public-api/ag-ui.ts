/** Renders the events of a run as those of AG-UI, the protocol between agents and their user interfaces. */

import { isJsonObject, type JsonObject, parseJson } from '#agent/core/parse-json.ts'
import { type SharedState, stateTool } from './ag-ui-state.ts'

export type AgUiEvent = { readonly type: string } & JsonObject

/** An event of a session as the API streams it. */
type PublicEvent = JsonObject

type Names = { readonly threadId: string; readonly runId: string }

const textOf = (value: unknown): string => (typeof value === 'string' ? value : '')

/** A person has to decide, or the run has changed: interfaces that know the event of this API can show it. */
const customTypes: ReadonlySet<unknown> = new Set([
  'approval.request',
  'approval.responded',
  'question.request',
  'question.answered',
  'turn.restarted',
  'run.steered',
  'status',
  'subagent.start',
  'subagent.complete',
])

const endTypes: ReadonlySet<unknown> = new Set(['run.completed', 'run.failed', 'run.cancelled'])

type Kind = 'text' | 'reasoning'

const answerSchema = { type: 'object', properties: { answer: { type: 'string' } }, required: ['answer'] } as const
const approvalSchema = {
  type: 'object',
  properties: { decision: { enum: ['once', 'session', 'always', 'deny'] } },
  required: ['decision'],
} as const

/** The answer of a person to an interrupt. */
export type AgUiAnswer = {
  readonly kind: 'question' | 'approval'
  /** Of the question or the approval. */
  readonly id: string
  /** The last event that the client has seen. */
  readonly after: number
  /** Undefined: the person gives none. */
  readonly payload: unknown
}

/** Undefined for an id that no interrupt has. */
export function readResume({ interruptId, status, payload }: JsonObject): AgUiAnswer | undefined {
  const [, kind, after, id = ''] = /^(question|approval):(\d{1,15}):(.{1,1000})$/.exec(textOf(interruptId)) ?? []
  if (kind !== 'question' && kind !== 'approval') return undefined
  return { kind, id, after: Number(after), payload: status === 'cancelled' ? undefined : payload }
}

/** A field of the answer, or the whole answer. */
export const fieldOf = (payload: unknown, field: string): unknown => (isJsonObject(payload) ? payload[field] : payload)

/** A call of a tool of the client, or of the state that it shares. */
export type AgUiCallResult = { readonly callId: string; readonly output: string; readonly failed: boolean }

type RendererOptions = {
  /** Absent: the client shares none. */
  readonly state?: SharedState | undefined
  /** The part of the run that the request of the client has begun. Earlier ones were shown before. */
  readonly segment?: number | undefined
}

export class AgUiRenderer {
  readonly #names: Names
  readonly #state: SharedState | undefined
  #hasBegun: boolean
  readonly #segment: number
  /** The message with the calls of the client that wait. */
  #callsMessage: string | undefined
  #results: AgUiCallResult[] = []
  #hasOpenCalls = false
  #serial = 0
  /** The message whose pieces are arriving. */
  #open: { readonly kind: Kind; readonly messageId: string } | undefined
  #hasText = false
  hasEnded = false

  /** `runId` is that of the client, which expects its own. */
  constructor(names: Names, { state, segment = 0 }: RendererOptions = {}) {
    this.#names = names
    this.#state = state
    this.#segment = segment
    this.#hasBegun = segment === 0
  }

  begin(): readonly AgUiEvent[] {
    const snapshot = this.#state && { type: 'STATE_SNAPSHOT', snapshot: this.#state.value }
    return [{ type: 'RUN_STARTED', ...this.#names }, ...(snapshot ? [snapshot] : [])]
  }

  /** The results of the calls that the run waits for, if none of them is a call of the client. */
  takeResults(): readonly AgUiCallResult[] {
    const results = this.#hasOpenCalls ? [] : this.#results
    if (results.length) this.#forgetCalls()
    return results
  }

  #forgetCalls(): void {
    this.#results = []
    this.#callsMessage = undefined
    this.#hasOpenCalls = false
  }

  render(event: PublicEvent): readonly AgUiEvent[] {
    const { type } = event
    if (typeof type !== 'string' || this.hasEnded) return []
    if (!this.#hasBegun) {
      this.#hasBegun = type === 'run.waiting' && event['segment'] === this.#segment - 1
      if (!endTypes.has(type)) return []
    }
    if (customTypes.has(type)) return [...this.#close(), { type: 'CUSTOM', name: type, value: event }]
    return Object.hasOwn(this.#renderers, type) ? (this.#renderers[type]?.(event) ?? []) : []
  }

  /**
   * Ends the run of the client, because this one waits for a person. The id of the interrupt names the request and the
   * last event that the client has seen.
   */
  interrupt(event: PublicEvent): readonly AgUiEvent[] {
    const { type, seq, call_id: toolCallId } = event
    const isApproval = type === 'approval.request'
    const id = `${isApproval ? 'approval' : 'question'}:${Number(seq)}:${textOf(event['approval_id'] ?? event['question_id'])}`
    const interrupt = isApproval
      ? { id, reason: 'approval', message: `Allow ${textOf(event['tool'])}?`, responseSchema: approvalSchema }
      : { id, reason: 'question', message: textOf(event['question']), responseSchema: event['schema'] ?? answerSchema }
    const interrupts = [{ ...interrupt, ...(typeof toolCallId === 'string' && { toolCallId }) }]
    return this.#finish({ type: 'RUN_FINISHED', ...this.#names, outcome: { type: 'interrupt', interrupts } })
  }

  /** The stream has ended without the end of the run. */
  breakOff(): readonly AgUiEvent[] {
    return this.hasEnded ? [] : this.#fail('The stream broke off. The run goes on.', 'interrupted')
  }

  readonly #renderers: Readonly<Record<string, (event: PublicEvent) => readonly AgUiEvent[]>> = {
    'message.delta': ({ delta }) => this.#add('text', textOf(delta)),
    'reasoning.delta': ({ delta }) => this.#add('reasoning', textOf(delta)),
    'tool.started': ({ call_id: toolCallId, tool, input }) => [
      ...this.#close(),
      { type: 'TOOL_CALL_START', toolCallId, toolCallName: tool },
      { type: 'TOOL_CALL_ARGS', toolCallId, delta: JSON.stringify(input ?? {}) },
      { type: 'TOOL_CALL_END', toolCallId },
    ],
    'tool.completed': ({ call_id: toolCallId, preview }) => [
      { type: 'TOOL_CALL_RESULT', messageId: this.#newId(), toolCallId, content: textOf(preview), role: 'tool' },
    ],
    'client_call.request': ({ call_id: id, tool, input }) => this.#addCall(textOf(id), textOf(tool), textOf(input)),
    'run.waiting': ({ waits_for: kinds }) => {
      if (!Array.isArray(kinds) || !kinds.includes('client')) return []
      const results = this.#results.map(({ callId, output }) => ({
        type: 'TOOL_CALL_RESULT',
        messageId: this.#newId(),
        toolCallId: callId,
        content: output,
        role: 'tool',
      }))
      return this.#hasOpenCalls ? [...results, ...this.#finish({ type: 'RUN_FINISHED', ...this.#names })] : results
    },
    // An answer that a transform has replaced, or that a model has not streamed, comes whole.
    'run.completed': ({ output }) => {
      const missing = this.#hasText ? [] : this.#add('text', textOf(output))
      return [...missing, ...this.#finish({ type: 'RUN_FINISHED', ...this.#names })]
    },
    'run.failed': ({ error, output, exit_reason: reason }) =>
      this.#fail(textOf(error) || textOf(output) || 'The run has failed.', textOf(reason)),
    'run.cancelled': () => this.#finish({ type: 'RUN_FINISHED', ...this.#names, outcome: { type: 'cancelled' } }),
  }

  /** Calls that wait together are in one message, so that their results follow it. */
  #addCall(toolCallId: string, tool: string, input: string): readonly AgUiEvent[] {
    const closing = this.#close()
    this.#callsMessage ??= this.#newId()
    const shown = [
      { type: 'TOOL_CALL_START', toolCallId, toolCallName: tool, parentMessageId: this.#callsMessage },
      { type: 'TOOL_CALL_ARGS', toolCallId, delta: input },
      { type: 'TOOL_CALL_END', toolCallId },
    ]
    if (!this.#state || tool !== stateTool) {
      this.#hasOpenCalls = true
      return [...closing, ...shown]
    }
    const change = this.#state.change(parseJson(input))
    const failed = 'error' in change
    this.#results.push({ callId: toolCallId, output: failed ? change.error : 'Changed.', failed })
    return [...closing, ...shown, ...(failed ? [] : [{ type: 'STATE_DELTA', delta: change.delta }])]
  }

  readonly #newId = (): string => `${this.#names.runId}-${++this.#serial}`

  #add(kind: Kind, delta: string): readonly AgUiEvent[] {
    if (!delta) return []
    this.#hasText ||= kind === 'text'
    const before = this.#openAs(kind)
    const type = kind === 'text' ? 'TEXT_MESSAGE_CONTENT' : 'REASONING_MESSAGE_CONTENT'
    return [...before, { type, messageId: this.#open?.messageId, delta }]
  }

  #openAs(kind: Kind): readonly AgUiEvent[] {
    if (this.#open?.kind === kind) return []
    const closing = this.#close()
    const messageId = this.#newId()
    this.#open = { kind, messageId }
    if (kind === 'text') return [...closing, { type: 'TEXT_MESSAGE_START', messageId, role: 'assistant' }]
    return [
      ...closing,
      { type: 'REASONING_START', messageId },
      { type: 'REASONING_MESSAGE_START', messageId, role: 'reasoning' },
    ]
  }

  #close(): readonly AgUiEvent[] {
    const closed = this.#open
    this.#open = undefined
    if (!closed) return []
    const { kind, messageId } = closed
    if (kind === 'text') return [{ type: 'TEXT_MESSAGE_END', messageId }]
    return [
      { type: 'REASONING_MESSAGE_END', messageId },
      { type: 'REASONING_END', messageId },
    ]
  }

  #finish(event: AgUiEvent): readonly AgUiEvent[] {
    const closing = this.#close()
    this.hasEnded = true
    return [...closing, event]
  }

  #fail(message: string, code: string): readonly AgUiEvent[] {
    return this.#finish({ type: 'RUN_ERROR', message, code })
  }
}

export const renderAgUiEvent = (event: AgUiEvent): string => `data: ${JSON.stringify(event)}\n\n`

/** The text of the last message of the person: the session has the others. */
export function readLastMessage(messages: readonly unknown[]): string | undefined {
  const last = messages.findLast((one) => isJsonObject(one) && one['role'] === 'user')
  const content = isJsonObject(last) ? last['content'] : undefined
  if (typeof content === 'string') return content
  if (!Array.isArray(content)) return undefined
  return content
    .map((part) => (isJsonObject(part) && part['type'] === 'text' ? textOf(part['text']) : ''))
    .filter(Boolean)
    .join('\n')
}

/**
 * The results that a client brings for calls of its tools: the messages behind the last one of the agent. Empty when a
 * person has written since. `tools`: the names of the tools that the client offers.
 */
export function readToolResults(messages: readonly unknown[], tools: ReadonlySet<string>): readonly AgUiCallResult[] {
  const at = messages.findLastIndex((one) => isJsonObject(one) && one['role'] === 'assistant')
  const asked = at < 0 ? undefined : (messages[at] as JsonObject)['toolCalls']
  const rest = messages.slice(at + 1).filter(isJsonObject)
  if (!Array.isArray(asked) || rest.some(({ role }) => role === 'user')) return []
  const own = new Set(
    asked.filter(isJsonObject).flatMap(({ id, function: called }) => {
      const isOwn = isJsonObject(called) && tools.has(textOf(called['name']))
      return isOwn ? [textOf(id)] : []
    }),
  )
  return rest.flatMap(({ role, toolCallId, content, error }) => {
    const callId = textOf(toolCallId)
    if (role !== 'tool' || !own.has(callId)) return []
    const output = textOf(error) || (typeof content === 'string' ? content : JSON.stringify(content ?? ''))
    return [{ callId, output, failed: textOf(error) !== '' }]
  })
}
