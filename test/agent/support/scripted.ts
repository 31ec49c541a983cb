/** Runs the loop against a scripted model, an in-memory store and tools that record their calls. */

import type { Clock } from '#agent/core/clock.ts'
import type { Event } from '#agent/core/event.ts'
import { type Perform, type InboxMessage, defaultLimits, type Store, type View } from '#agent/core/ports.ts'
import type { AssistantMessage, Message, ToolMessage, UserMessage } from '#agent/core/message.ts'
import type { Failure } from '#agent/core/failure.ts'
import { type Commit, newTurn, type Result, type Turn } from '#agent/core/turn.ts'
import type { TurnOptions } from '#agent/core/turn-options.ts'
import { userText } from '#agent/core/message.ts'
import type { Step } from '#agent/core/step.ts'
import type { PendingRequest } from '#agent/core/pending-request.ts'
import type { Risk, Tool } from '#agent/core/tool.ts'
import { noUsage } from '#agent/core/usage.ts'
import { keepsNothing } from '#agent/core/compression.ts'
import { announce } from '#agent/loop/announce.ts'
import { drive } from '#agent/loop/drive.ts'
import { ownerAuthority } from '../../support/authority.ts'

export const says = (text: string): AssistantMessage => ({
  role: 'assistant',
  content: [{ type: 'text', text }],
  stop: 'end',
})
export const calls = (...names: string[]): AssistantMessage => ({
  role: 'assistant',
  content: names.map((name, i) => ({
    type: 'call',
    id: `${name}-${i}`,
    name,
    input: { path: '/tmp/x', content: 'y' },
  })),
  stop: 'tools',
})
export const fails = (kind: Failure['kind'], retryAfterMs?: number): Failure => ({
  kind,
  message: kind,
  ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
})

/** Thrown by the store to simulate an eviction: memory is lost, written state is not. */
export class Evicted extends Error {}

type State = { turn: Turn; transcript: Message[]; inbox: InboxMessage[] }

export class MemoryStore implements Store {
  writes = 0
  /** Labels of the emitted events, in order. */
  events: string[] = []
  /** The calls that pauses have announced: the number of the next one, and of how many. */
  announcedCalls: string[] = []
  /** Evicts at the nth write: before or just after the commit. */
  evict: { at: number; when: 'before' | 'after' } | undefined
  #now: State
  #written: State
  constructor(turn: Turn, transcript: Message[]) {
    this.#now = { turn, transcript, inbox: [] }
    this.#written = structuredClone(this.#now)
  }
  turn = () => this.#now.turn
  transcript = () => this.#now.transcript
  inbox = () => this.#now.inbox
  /** Adds a message to the inbox, which is durable at once. */
  addToInbox = (message: UserMessage, mode: InboxMessage['mode'] = 'steer') => {
    const id = (this.#now.inbox.at(-1)?.id ?? 0) + 1
    this.#now.inbox = [...this.#now.inbox, { id, mode, message }]
    this.#written.inbox = [...this.#written.inbox, { id, mode, message }]
  }
  save = (commit: Commit) => {
    const drained = new Set(commit.drain)
    const messages = this.#now.inbox.filter(({ id }) => drained.has(id))
    for (const event of announce(this.#now.turn, commit, { now: 0, drained: messages, fromSeq: 0 })) {
      this.events.push(label(event))
      if (event.type === 'status' && event.attempt !== undefined)
        this.announcedCalls.push(`${event.attempt} of ${event.attempts}`)
    }
    const earlier = commit.summary === undefined ? this.#now.transcript : [userText(commit.summary.text, 'summary')]
    this.#now = {
      turn: structuredClone(commit.turn),
      transcript: [...earlier, ...(commit.append ?? [])],
      inbox: this.#now.inbox.filter(({ id }) => !drained.has(id)),
    }
  }
  write = () => {
    this.writes++
    if (this.writes === this.evict?.at && this.evict.when === 'before') throw new Evicted()
    this.#written = structuredClone(this.#now)
    if (this.writes === this.evict?.at && this.evict.when === 'after') throw new Evicted()
  }
  /** Restores the written state, as an object does after an eviction. */
  reload = () => {
    this.evict = undefined
    this.#now = structuredClone(this.#written)
  }
}

const label = (event: Event) => {
  if (event.type === 'tool.started' || event.type === 'tool.completed') return `${event.type} ${event.tool}`
  return event.type === 'status' ? `status ${event.state}` : event.type
}

const approvalRequest = (tool: string): PendingRequest => ({
  kind: 'approval',
  tool,
  input: '{}',
  risk: 'exec',
  reasons: ['it runs code'],
  rule: '*',
  hash: 'shown',
  since: 1_000,
})

/** A step of the script: a reply, or a failed call with an optional partial text. */
type Reply = AssistantMessage | (Failure & { readonly partial?: string; readonly inCall?: boolean })
const isFailure = (reply: Reply): reply is Exclude<Reply, AssistantMessage> => 'kind' in reply

export class LoopHarness {
  now = 1_000
  store: MemoryStore
  ran: string[] = []
  steps: Step[] = []
  modelCalls = 0
  tools: Tool[]
  contextTokens = 0
  compressibleTokens = 100
  savedTokens = 50
  risksToApprove: ReadonlySet<Risk> = new Set()
  limits = defaultLimits
  images = false
  pdfs = false
  shrinks = false
  stalls = 0
  outputTokens = 1
  random = 0
  /** The maximum number of concurrent calls. */
  maxConcurrent = 8
  /** The number of keys of each model. */
  chain = [1]
  /** The overload time of all models. */
  overloadMs: number | undefined
  #script: (transcript: readonly Message[], turn: Turn, nth: number) => Reply
  constructor(
    script: LoopHarness['script'] | Reply[],
    options: { tools?: Tool[]; limit?: number; turn?: TurnOptions } = {},
  ) {
    this.#script = typeof script === 'function' ? script : (_t, _u, nth) => script[nth] ?? says('ok')
    this.tools = options.tools ?? []
    this.store = new MemoryStore(newTurn('t1', 0, options.limit ?? 10, options.turn), [userText('go')])
  }
  get script() {
    return this.#script
  }
  clock: Clock = { now: () => this.now }
  view = (): View => ({
    now: this.now,
    inbox: this.store.inbox(),
    toolbox: new Map(this.tools.map((tool) => [tool.name, tool])),
    stallsInARow: this.stalls,
    lastSeq: this.store.transcript().length,
    messageCount: this.store.transcript().length,
    contextTokens: this.contextTokens,
    compressibleTokens: () => this.compressibleTokens,
    contextWindow: 100,
    chain: this.chain.map((keys, model) => ({
      id: `model-${model}`,
      overloadMs: this.overloadMs,
      keys: Array.from({ length: keys }, (_, key) => `key-${model}-${key}`),
    })),
    limits: this.limits,
    hasImages: this.images,
    sendsPdfs: this.pdfs,
    canShrinkImages: this.shrinks,
    selectConcurrent: (planned) => planned.slice(0, this.maxConcurrent),
    lastRole: this.store.transcript().at(-1)?.role,
    random: this.random,
  })
  perform: Perform = (step, turn) => this.#perform(step, turn)
  async *#perform(...[step, turn]: Parameters<Perform>): AsyncGenerator<Result> {
    this.steps.push(step)
    if (step.do === 'call-model') {
      const reply = this.#script(this.store.transcript(), turn, this.modelCalls++)
      if (isFailure(reply)) {
        const { partial, inCall = false, ...failure } = reply
        const { model, avoid } = turn.route
        const key = this.view().chain[model]?.keys.find((name) => !avoid.includes(name)) ?? ''
        yield { of: 'failure', failure, inCall, key, ...(partial !== undefined && { partial }) }
      } else yield { of: 'model', reply, usage: { ...noUsage, output: this.outputTokens } }
    }
    if (step.do === 'compress') {
      yield {
        of: 'summary',
        summary: { text: 'earlier: go', covers: 1, keeps: keepsNothing, carried: [], effects: [] },
        savedTokens: this.savedTokens,
        usage: noUsage,
      }
      this.contextTokens = 0
    }
    if (step.do === 'run-tools') {
      for (const call of step.calls) {
        const tool = this.tools.find(({ name }) => name === call.name)
        if (!tool) throw new Error('unknown tool reached perform')
        if (this.risksToApprove.has(tool.risk(call.input)) && call.granted === undefined) {
          yield { of: 'later', callId: call.id, awaits: approvalRequest(call.name) }
          continue
        }
        this.ran.push(call.name)
        const context = {
          sessionId: 's',
          authority: ownerAuthority(),
          callId: call.id,
          callKey: call.id,
          signal: new AbortController().signal,
          clock: this.clock,
        }
        const result = await tool.run(call.input, context, {})
        if ('later' in result) yield { of: 'later', callId: call.id, awaits: result.later }
        else {
          const message: ToolMessage = { role: 'tool', callId: call.id, name: call.name, ...result }
          yield { of: 'tool', message }
        }
      }
    }
  }
  /** Drives the turn until it rests without a time, and skips its waits. */
  async run() {
    for (;;) {
      const rest = await drive(this)
      if (rest.until === undefined) return this.store.turn()
      this.now = rest.until
    }
  }
}
