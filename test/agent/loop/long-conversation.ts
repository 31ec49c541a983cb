/**
 * Simulates a conversation of many turns in a small window, with the real loop, the real compression and the real
 * assembly of the context. The model is scripted: it does each task by calls with effects, and repeats a call whose
 * outcome it cannot see. Objects die at random writes, and summaries fail at random.
 */

import { drive } from '#agent/loop/drive.ts'
import { announce } from '#agent/loop/announce.ts'
import type { Entry } from '#agent/core/history.ts'
import { type AssistantMessage, callsIn, type Message, textIn, userText } from '#agent/core/message.ts'
import { defaultLimits, type Perform, type Store, type View } from '#agent/core/ports.ts'
import type { Tool } from '#agent/core/tool.ts'
import type { Commit, Result, Turn } from '#agent/core/turn.ts'
import { noUsage } from '#agent/core/usage.ts'
import { getThresholdTokens } from '#agent/policy/compress-context.ts'
import { type BoundaryOptions, planCompression } from '#agent/prompt/compression/boundaries.ts'
import { createSummaryMessage } from '#agent/prompt/compression/summary-message.ts'
import { estimateMessageTokens } from '#agent/prompt/estimate-tokens.ts'
import type { SideCall } from '#durable/models/side-call.ts'
import { addToContext, type LoadedContext, createContext } from '#durable/storage/store.ts'
import { openingTurn } from '#durable/storage/store.ts'
import { collectCarryOver } from '#durable/turn/compression/carry-over.ts'
import { summarise } from '#durable/turn/compression/summarise.ts'
import { Evicted } from '../support/scripted.ts'
import { wellFormed } from './simulation.ts'

export const contextWindow = 16_000
/** Of the system prompt and the tools. */
const fixedTokens = 1_500
const threshold = getThresholdTokens(defaultLimits.compression, contextWindow)
const boundaries: BoundaryOptions = { protectFirst: 3, protectLast: 20, tailTokens: threshold * 0.2 }

type Written = { readonly turn: Turn | undefined; readonly entries: readonly Entry[] }

/** Keeps the entries of a session like `SessionStore`: a summary replaces none of them. */
class ConversationStore implements Store {
  entries: Entry[] = []
  compressions = 0
  /** Evicts at the nth write from now on. */
  evict: { in: number; readonly when: 'before' | 'after' } | undefined
  #turn: Turn | undefined
  #context: LoadedContext = createContext([])
  #written: Written = { turn: undefined, entries: [] }

  get context(): LoadedContext {
    return this.#context
  }
  turn = (): Turn => this.#turn as Turn
  open(runId: string, message: Message) {
    this.evict = undefined
    const opening = { options: {}, limit: 200, usageBefore: noUsage }
    this.save({ turn: openingTurn(runId, 0, opening, this.#turn), append: [message] })
    this.write()
  }
  save = ({ turn, append = [], summary, ...commit }: Commit) => {
    const announced = announce(this.#turn, { turn, append, ...commit, ...(summary && { summary }) }, announcement)
    if (announced.some(({ type }) => type === 'context.compressed')) this.compressions++
    this.#turn = turn
    if (summary) {
      const { text, carried, ...position } = summary
      this.#add(createSummaryMessage(text, carried), position)
      this.#context = createContext(this.entries.filter((one) => isSent(one, this.entries.at(-1) as Entry)))
    }
    for (const message of append) addToContext(this.#context, this.#add(message))
  }
  write = () => {
    const when = this.evict && --this.evict.in === 0 ? this.evict.when : undefined
    if (when === 'before') throw new Evicted()
    this.#written = { turn: this.#turn, entries: [...this.entries] }
    if (when === 'after') throw new Evicted()
  }
  /** Restores the written state, as an object does after an eviction. */
  reload() {
    this.#turn = this.#written.turn
    this.entries = [...this.#written.entries]
    const newest = this.entries.findLast(({ covers }) => covers !== undefined)
    this.#context = createContext(newest ? this.entries.filter((one) => isSent(one, newest)) : this.entries)
  }
  #add(message: Message, position: Partial<Entry> = {}): Entry {
    const seq = this.entries.length + 1
    const runId = this.turn().id
    const entry = { id: `msg_${seq}`, seq, runId, at: 0, tokens: estimateMessageTokens(message), message, ...position }
    this.entries.push(entry)
    return entry
  }
}

const announcement = { now: 0, drained: [], fromSeq: 0 }

const isSent = ({ seq, covers }: Entry, summary: Entry): boolean =>
  seq === summary.seq ||
  (covers === undefined &&
    (seq > (summary.covers ?? 0) ||
      Boolean(summary.keeps?.head.includes(seq) || summary.keeps?.requests.includes(seq))))

/** More deaths in a row at one step end the turn. */
const maxLives = 3

type Random = () => number
export type Violation = { readonly turn: number; readonly what: string }

export class LongConversation {
  readonly store = new ConversationStore()
  readonly violations: Violation[] = []
  /** How often each effect took place. */
  readonly effects = new Map<string, number>()
  /** The first request after each compression. */
  readonly samples: (readonly Message[])[] = []
  requests = 0
  /** The stages in which the object died. */
  readonly deaths: string[] = []
  failedSummaries = 0
  readonly #random: Random
  #task = 0
  #mayDie = false
  #now = 0
  #lastRequest: readonly string[] = []
  #lastSummary: number | undefined

  constructor(random: Random) {
    this.#random = random
  }

  async run(turns: number): Promise<void> {
    for (this.#task = 1; this.#task <= turns; this.#task++) {
      this.#now += 60_000
      const filler = 'Some words about it. '.repeat(Math.floor(this.#random() * 40))
      this.store.open(`run_${this.#task}`, userText(`task ${this.#task}: do it well. ${filler}`))
      await this.#driveToEnd()
      const { stage } = this.store.turn()
      if (stage.at !== 'done' || stage.outcome !== 'answered') this.#violate(`it ends with ${JSON.stringify(stage)}`)
    }
  }

  async #driveToEnd() {
    for (let lives = 0; lives < maxLives; lives++) {
      const when = this.#random() < 0.5 ? 'before' : 'after'
      this.#mayDie = lives < maxLives - 1
      this.store.evict =
        this.#mayDie && this.#random() < 0.4 ? { in: 1 + Math.floor(this.#random() * 12), when } : undefined
      try {
        const rest = await drive({ store: this.store, perform: this.perform, view: this.view })
        if (rest.until === undefined) return
        this.#now = rest.until
      } catch (error) {
        if (!(error instanceof Evicted)) throw error
        this.deaths.push(this.store.turn().stage.at)
        this.store.reload()
      }
    }
  }

  readonly view = (): View => ({
    now: this.#now,
    inbox: [],
    lastRole: this.store.context.messages.at(-1)?.role,
    toolbox: new Map(Object.entries(tools)),
    selectConcurrent: (calls) => calls,
    lastSeq: this.store.entries.length,
    messageCount: this.store.context.messages.length,
    contextTokens: this.store.context.tokens + fixedTokens,
    compressibleTokens: () => planCompression(this.store.context.entries, boundaries).tokens,
    contextWindow,
    chain: [{ id: 'a/model', keys: ['k'] }],
    stallsInARow: 0,
    limits: { ...defaultLimits, guard: { ...defaultLimits.guard, warn: false } },
    hasImages: false,
    sendsPdfs: false,
    canShrinkImages: false,
    random: 0.5,
  })

  readonly perform: Perform = (step) => this.#perform(step)
  async *#perform(step: Parameters<Perform>[0]): AsyncGenerator<Result> {
    if (step.do === 'call-model') yield this.#callModel()
    if (step.do === 'compress') {
      if (this.#mayDie && this.#random() < 0.2)
        this.store.evict = { in: 1, when: this.#random() < 0.5 ? 'before' : 'after' }
      yield await this.#compress()
    }
    if (step.do !== 'run-tools') return
    for (const { id: callId, name, input } of step.calls) {
      const text = this.#runTool(name, input as ToolInput)
      yield { of: 'tool', message: { role: 'tool', callId, name, content: [{ type: 'text', text }], failed: false } }
    }
  }

  /** The provider refuses a prompt that is longer than the window. */
  #callModel(): Result {
    if (this.store.context.tokens + fixedTokens <= contextWindow)
      return { of: 'model', reply: this.#reply(), usage: noUsage }
    return { of: 'failure', failure: { kind: 'too-long', message: '' }, key: 'k' }
  }

  /** Plays the model: does what is left of the task, and answers when nothing is. */
  #reply(): AssistantMessage {
    const { messages } = this.store.context
    this.#check(messages)
    const text = messages.map(renderForModel).join('\n')
    const task = this.#task
    for (let n = 1; n <= effectsOf(task); n++) {
      const input = { key: `${task}.${n}` }
      const call = JSON.stringify(input)
      const outcomes = ['effect', 'check'].flatMap((name) => [`${name} ${call} done`, `${name} ${call} → done`])
      if (outcomes.some((outcome) => text.includes(outcome))) continue
      // A newer call with an unknown outcome is checked again.
      const unknown = Math.max(text.lastIndexOf(`effect ${call} unknown`), text.lastIndexOf(`effect ${call} → failed`))
      const mayRun = text.lastIndexOf(`check ${call} missing`) >= unknown
      if (mayRun && this.#random() < 0.4) return this.#call('read', input)
      return this.#call(mayRun ? 'effect' : 'check', input)
    }
    return { role: 'assistant', content: [{ type: 'text', text: `done with ${task}` }], stop: 'end' }
  }

  #call = (name: string, input: ToolInput): AssistantMessage => ({
    role: 'assistant',
    content: [{ type: 'call', id: `call_${this.requests}`, name, input }],
    stop: 'tools',
  })

  #runTool(name: string, { key }: ToolInput): string {
    if (name === 'read') return 'A long line of some file. '.repeat(Math.floor(this.#random() * 350))
    const times = this.effects.get(key) ?? 0
    if (name === 'check') return times ? 'done' : 'missing'
    this.effects.set(key, times + 1)
    return 'done'
  }

  async #compress(): Promise<Result> {
    const result = await summarise({
      entries: this.store.context.entries,
      boundaries,
      mask: (text) => text,
      hasEffect: (name) => name === 'effect',
      carryOver: (effects) =>
        collectCarryOver({
          session: { meta: { todos: [{ id: 't', content: `todo of ${this.#task}`, status: 'in_progress' }] } } as never,
          effects,
          maxChars: Math.floor(contextWindow * 0.05 * 4),
        }),
      side: this.#side,
    })
    if (result.of === 'nothing') return { of: 'failure', failure: { kind: 'too-long', message: 'nothing left' } }
    return result.of === 'summary' ? { ...result, usage: noUsage } : result
  }

  readonly #side: SideCall = async (_task, { transcript, maxTokens = 0 }) => {
    const asked = typeof transcript === 'function' ? transcript(contextWindow * 0.85 - maxTokens) : transcript
    if (textIn(asked[0] as Message).length > 160_100) this.#violate('the input of a summary is too long')
    const chance = this.#random()
    if (chance < 0.1) {
      this.failedSummaries++
      // One network failure pauses compressions for ten turns. Another one after an overflow would end the turn.
      const kind = chance < 0.03 && this.store.context.tokens + fixedTokens <= contextWindow ? 'network' : 'quota'
      return { kind: 'failed', failure: { kind, message: '' }, usage: noUsage }
    }
    const text = `## Done\n${'1. Something was done. '.repeat(Math.floor(this.#random() * 150))}`
    return { kind: 'answered', text, model: 'a/model', usage: noUsage }
  }

  /** Checks a request as the model gets it. */
  #check(messages: readonly Message[]) {
    this.requests++
    const sent = messages.map((message) => JSON.stringify(message))
    const violation = wellFormed(messages)
    if (violation) this.#violate(violation)
    const users = messages.filter(({ role }) => role === 'user').map(textIn)
    if (!users.some((text) => text.includes(`task ${this.#task}: do it well.`))) this.#violate('the request is lost')
    const summary = this.store.context.entries.find(({ covers }) => covers !== undefined)
    const isCompressed = summary?.seq !== this.#lastSummary
    const hasPrefix = this.#lastRequest.every((text, i) => text === sent[i])
    if (!isCompressed && !hasPrefix) this.#violate('the prefix of the request has changed')
    if (isCompressed) {
      this.samples.push([...messages])
      const [, run] = summary?.runId.split('_') ?? []
      if (!sent.join('').includes(`todo of ${run}`)) this.#violate('the todo list is lost')
    }
    this.#lastSummary = summary?.seq
    this.#lastRequest = sent
  }

  #violate(what: string) {
    this.violations.push({ turn: this.#task, what })
  }
}

type ToolInput = { readonly key: string }

/** Some tasks need many calls, so that one turn alone exceeds the window. */
const effectsOf = (task: number): number => (task % 25 === 0 ? 40 : task % 4)

const defineFake = (name: string, effect: Tool['effect']): Tool => ({
  name,
  toolset: 'test',
  description: name,
  inputSchema: {},
  needs: [],
  effect,
  risk: () => 'read',
  touches: () => 'alone',
  run: () => Promise.reject(new Error('performed by the simulation')),
})
const tools = {
  read: defineFake('read', 'pure'),
  check: defineFake('check', 'pure'),
  effect: defineFake('effect', 'effect'),
}

const resultOf = (text: string): string => (/unknown whether/.test(text) ? 'unknown' : text.slice(0, 200))

/** A message as a model understands it: each result with its call. */
function renderForModel(message: Message, i: number, all: readonly Message[]): string {
  if (message.role !== 'tool') return textIn(message)
  const call = all
    .slice(0, i)
    .flatMap((one) => (one.role === 'assistant' ? callsIn(one) : []))
    .findLast(({ id }) => id === message.callId)
  return `${message.name} ${JSON.stringify(call?.input)} ${resultOf(textIn(message))}`
}
