/** Turns stored messages into the blocks that the chat shows, each of which is one element of its list. */

import { listGoals } from './subagent-goals.ts'
import type { Message } from './types.ts'
import { type AttachedFile, splitAttached } from './workspace-files.ts'

type Common = { readonly key: string; readonly runId: string; readonly at?: string }

export type TextBlock = Common & {
  readonly kind: 'text' | 'thinking'
  readonly text: string
  readonly step?: number | undefined
  readonly startedAt?: string
  /** From its first to its last piece. */
  readonly ms?: number
  /** The length of the text after each event. Empty: it is stored. */
  readonly marks: readonly (readonly [seq: number, length: number])[]
}

export type ToolBlock = Common & {
  readonly kind: 'tool'
  readonly callId: string
  readonly step?: number | undefined
  readonly tool: string
  readonly input: unknown
  readonly state: 'running' | 'waiting' | 'done' | 'failed' | 'denied'
  /** Sessions that the call has started. */
  readonly subagents?: readonly Subagent[]
  readonly progress: string
  readonly result?: string
  readonly startedAt?: string
  /** When the result was stored. */
  readonly endedAt?: string
  readonly ms?: number
}

export type Subagent = { readonly session: string; readonly goal: string; readonly state: string }

/** The same for a block while it is live and when it is stored, so that its element stays: a selection, an open card. */
export const keyOf = (runId: string, step: number, part: string): string => `${runId}.${step}.${part}`

export type UserBlock = Common & {
  readonly kind: 'user'
  readonly text: string
  /** Addresses of images in our API, or data. */
  readonly images: readonly string[]
  readonly files?: readonly AttachedFile[]
  /** `joining`: sent into a run that has not taken it yet. `missed`: that run has ended without it. `command`: no message. */
  readonly state: 'stored' | 'sending' | 'sent' | 'joining' | 'missed' | 'failed' | 'command'
}

/** Stands behind the answer of a run. */
export type ResultsBlock = Common & {
  readonly kind: 'results'
  /** Media that calls have made. */
  readonly made: readonly { readonly path: string; readonly text: string }[]
  readonly changed: readonly string[]
  /** Of changed files, of which `changed` has the first. */
  readonly count: number
}

/** Calls that follow each other, and what was thought between them. */
export type CallsBlock = Common & { readonly kind: 'calls'; readonly items: readonly (ToolBlock | TextBlock)[] }

export type Block =
  | CallsBlock
  | ResultsBlock
  | TextBlock
  | ToolBlock
  | UserBlock
  | (Common & { readonly kind: 'notice'; readonly text: string; readonly source?: string })
  | (Common & Subagent & { readonly kind: 'subagent' })

/** Facts that messages do not have: the time that calls took, and their output as it came, with its colours. By key of the block. */
export type Watched = Readonly<Record<string, { readonly ms?: number; readonly progress?: string }>>

export function toBlocks(messages: readonly Message[], watched: Watched = {}): readonly Block[] {
  const results = new Map(
    messages.flatMap((message) =>
      message.role === 'tool' ? [[`${message.run_id} ${message.tool_call_id}`, message]] : [],
    ),
  )
  return messages
    .flatMap((message) => blocksOf(message, results))
    .map((block) => {
      const seen = watched[block.key]
      return seen && (block.kind === 'tool' || block.kind === 'thinking') ? { ...block, ...seen } : block
    })
}

/** Stored and live blocks in one list. A call that is stored without a result has a live card. */
export function joinBlocks(stored: readonly Block[], live: readonly Block[]): readonly Block[] {
  const running = new Set(live.flatMap((block) => (block.kind === 'tool' ? [`${block.runId} ${block.callId}`] : [])))
  const isShownLive = (block: Block) =>
    block.kind === 'tool' && block.result === undefined && running.has(`${block.runId} ${block.callId}`)
  const results = new Set(
    stored.flatMap((block) =>
      block.kind === 'tool' && block.result !== undefined ? [`${block.runId} ${block.step} ${block.callId}`] : [],
    ),
  )
  const steered = stored.filter((block) => block.kind === 'user' && block.state === 'sent')
  const isShownStored = (block: Block) =>
    block.kind === 'tool'
      ? block.step !== undefined && results.has(`${block.runId} ${block.step} ${block.callId}`)
      : block.kind === 'user' && block.state === 'sent' && steered.some((one) => hasText(one as UserBlock, block))
  return [...stored.filter((block) => !isShownLive(block)), ...live.filter((block) => !isShownStored(block))]
}

/** Messages that steered together are one block. */
const hasText = (whole: UserBlock, { runId, text }: UserBlock): boolean =>
  whole.runId === runId && `\n${whole.text}\n`.includes(`\n${text}\n`)

function blocksOf(message: Message, results: ReadonlyMap<string, Message>): readonly Block[] {
  const common = { runId: message.run_id, at: message.created_at }
  if (message.role === 'tool') {
    const { steered } = splitSteered(message)
    const key = keyOf(message.run_id, message.seq, 'steered')
    return steered ? [{ ...common, kind: 'user', key, images: [], ...splitAttached(steered), state: 'sent' }] : []
  }
  if (message.role === 'user') return [userBlock(message)]
  const text = textOf(message)
  return [
    ...(message.reasoning
      ? [
          {
            ...common,
            kind: 'thinking' as const,
            key: keyOf(message.run_id, message.seq, 'thinking'),
            text: message.reasoning,
            marks: [],
          },
        ]
      : []),
    ...(text
      ? [{ ...common, kind: 'text' as const, key: keyOf(message.run_id, message.seq, 'text'), text, marks: [] }]
      : []),
    ...(message.tool_calls ?? []).map((call, at) => {
      const result = results.get(`${message.run_id} ${call.id}`)
      return toolBlock(
        { ...common, key: keyOf(message.run_id, message.seq, call.id || `${at}`), step: message.seq },
        call,
        result,
      )
    }),
  ]
}

function userBlock(message: Message): Block {
  const common = { key: `${message.seq}`, runId: message.run_id, at: message.created_at }
  if (message.source) return { ...common, kind: 'notice', text: textOf(message), source: message.source }
  const parts = Array.isArray(message.content) ? message.content : []
  const images = parts.flatMap((part) => (part.type === 'image_url' ? [part.image_url.url] : []))
  return { ...common, kind: 'user', ...splitAttached(textOf(message)), images, state: 'stored' }
}

type StoredCall = NonNullable<Message['tool_calls']>[number]

const toolBlock = (
  common: Common & { readonly step: number },
  { id, function: { name, arguments: text } }: StoredCall,
  stored: Message | undefined,
): Block => {
  const input = parse(text)
  const block = { ...common, kind: 'tool' as const, callId: id, tool: name, input, progress: '' }
  if (stored === undefined) return { ...block, state: 'running' }
  const { result } = splitSteered(stored)
  const subagents = readSubagents(input, parse(result))
  const state = stateOf(result, isFailure(parse(result)))
  return { ...block, result, state, endedAt: stored.created_at, ...(subagents.length && { subagents }) }
}

/** The text that follows a result when a person wrote while tools ran. */
const steerOpening = '[The user said, while this ran: '

/**
 * Splits a stored result from the message that steered its run. Only behind JSON, the end of a fence, or a picture: text
 * that a tool has read must not become a message of the person.
 */
function splitSteered(message: Message): { readonly result: string; readonly steered?: string } {
  const text = textOf(message)
  if (!text.endsWith(']')) return { result: text }
  for (let at = text.indexOf(steerOpening); at >= 0; at = text.indexOf(steerOpening, at + 1)) {
    const result = text.slice(0, at).trimEnd()
    if (isWhole(result, message)) return { result, steered: text.slice(at + steerOpening.length, -1) }
  }
  return { result: text }
}

const isWhole = (result: string, { content }: Message): boolean =>
  result === '' ? Array.isArray(content) : /<\/untrusted-[A-Za-z0-9]{4,64}>$/.test(result) || isJson(result)

const isJson = (text: string): boolean => /^[[{]/.test(text) && typeof parse(text) === 'object'

/** A call that a person or a rule has not allowed says so in its result, of which an event has the beginning. */
export function stateOf(result: string, hasFailed: boolean): ToolBlock['state'] {
  if (!hasFailed) return 'done'
  return /"status":"(?:denied|refused)"/.test(result.slice(0, 2_000)) ? 'denied' : 'failed'
}

function readSubagents(input: unknown, result: unknown): readonly Subagent[] {
  const { results } = Object(result) as { readonly results?: unknown }
  if (!Array.isArray(results)) return []
  const goals = listGoals(input)
  return results.flatMap((one) => {
    const { subagent_id: session, status, task_index: index } = Object(one) as Readonly<Record<string, unknown>>
    return typeof session === 'string' ? [{ session, goal: goals[Number(index)] ?? '', state: String(status) }] : []
  })
}

export function textOf({ content }: Pick<Message, 'content'>): string {
  if (typeof content === 'string' || content === null) return content ?? ''
  return content.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join('\n')
}

/** Text that is not JSON stays text. */
export function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

const isFailure = (result: unknown): boolean =>
  typeof result === 'object' &&
  result !== null &&
  (('error' in result && Boolean(result.error)) || ('success' in result && result.success === false))
