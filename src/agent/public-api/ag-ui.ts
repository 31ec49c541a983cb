/** Renders the events of a run as those of AG-UI, the protocol between agents and their user interfaces. */

import { isJsonObject, type JsonObject } from '#agent/core/parse-json.ts'

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

export class AgUiRenderer {
  readonly #names: Names
  #serial = 0
  /** The message whose pieces are arriving. */
  #open: { readonly kind: Kind; readonly messageId: string } | undefined
  #hasText = false
  hasEnded = false

  /** `runId` is that of the client, which expects its own. */
  constructor(names: Names) {
    this.#names = names
  }

  begin(): readonly AgUiEvent[] {
    return [{ type: 'RUN_STARTED', ...this.#names }]
  }

  render(event: PublicEvent): readonly AgUiEvent[] {
    const { type } = event
    if (typeof type !== 'string' || this.hasEnded) return []
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
    // An answer that a transform has replaced, or that a model has not streamed, comes whole.
    'run.completed': ({ output }) => {
      const missing = this.#hasText ? [] : this.#add('text', textOf(output))
      return [...missing, ...this.#finish({ type: 'RUN_FINISHED', ...this.#names })]
    },
    'run.failed': ({ error, output, exit_reason: reason }) =>
      this.#fail(textOf(error) || textOf(output) || 'The run has failed.', textOf(reason)),
    'run.cancelled': () => this.#finish({ type: 'RUN_FINISHED', ...this.#names, outcome: { type: 'cancelled' } }),
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
