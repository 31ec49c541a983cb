/** Performs the steps of a turn: calls models, runs tools, summarises. A failure of the outside world returns as a result. */

import {
  type CallOptions,
  type Delta,
  type Dialect,
  type DialectName,
  type Endpoint,
  isStreamBroken,
  type ModelRequest,
} from '#agent/core/dialect.ts'
import type { Failure } from '#agent/core/failure.ts'
import { forbidsTools, offeredTools, type ToolSchema } from '#agent/core/request/tool-schema.ts'
import type { TurnOptions } from '#agent/core/turn-options.ts'
import { type AssistantMessage, callsIn, type Message, textIn } from '#agent/core/message.ts'
import type { Perform } from '#agent/core/ports.ts'
import type { Settings } from '#agent/core/settings.ts'
import type { Marks } from '#agent/core/marks.ts'
import type { Step } from '#agent/core/step.ts'
import type { CheckedAnswer, Repairs, Result, ToolCall, Turn } from '#agent/core/turn.ts'
import { addUsage, noUsage, type Usage } from '#agent/core/usage.ts'
import type { ErrorContext } from '#agent/providers/errors/classify-error.ts'
import { renderFormatInstruction } from '#agent/providers/shared/parameters/answer-format.ts'
import { hideImages } from '#agent/providers/shared/images/hide-images.ts'
import { takesPdfs } from '#agent/providers/shared/pdf.ts'
import { isTooDeeplyNested, maxNesting } from '#agent/providers/shared/nesting.ts'
import type { Route } from '#agent/routing/route.ts'
import { failpoint } from '#durable/platform/failpoint.ts'
import { type IdleLimits, Stalled, withIdleTimeout } from '#durable/models/idle-timeout.ts'
import { billCall, billInterrupted } from '#durable/models/pricing.ts'
import type { SideCall } from '#durable/models/side-call.ts'
import type { Reserved } from '#durable/tenant/billing/session-billing.ts'
import type { ServerSearch } from './tools/server-search.ts'
import type { Summariser } from './compression/summariser.ts'
import { clock } from '#durable/platform/clock.ts'
import type { ImageDescriber } from './describe-images.ts'
import { openFenceFilter, removeFences } from '#agent/untrusted/fence-filter.ts'
import type { LinkFilter } from '#agent/untrusted/link-filter.ts'
import type { AnswerFormat } from '#agent/core/request/model-parameters.ts'
import { loadSchemaValidator } from '#backends/modules.ts'

/** The model and the key of one call. */
export type ChosenModel = { readonly route: Route; readonly endpoint: Endpoint }

type OpenLinks = () => LinkFilter

/** `openLinks`: withholds addresses of the answer. Absent: it may have any. */
export type Reading = { readonly marks?: Marks; readonly openLinks?: OpenLinks }

/** Returns at once for most turns. */
const getReading = ({ getReading: get }: ModelEffects, turn: Turn): Reading | Promise<Reading> => get?.(turn) ?? {}

export type ModelEffects = {
  readonly dialects: Readonly<Partial<Record<DialectName, Dialect>>>
  /** Chooses the model and the key of the next call; undefined when none is available. */
  readonly choose: (turn: Turn) => ChosenModel | undefined
  readonly explainUnavailable: (turn: Turn) => string
  /** Counts the key as in use until the returned function is called. */
  readonly lease: (chosen: ChosenModel) => (failure?: Failure) => void
  /** Creates a controller that a stop or a new message aborts while the step runs. */
  readonly abortable: () => AbortController
  readonly system: (turn: Turn) => string
  /** With `pdfWindow`, the context window of a model that takes PDF files, they are loaded. */
  readonly transcript: (route: Route, pdfWindow?: number) => Promise<readonly Message[]>
  /** Returns texts for images, for a model that cannot see them. */
  readonly describeImages: ImageDescriber
  /** Parameters that a request does not set itself. */
  readonly defaults: () => ModelDefaults
  /** Answers of the other models of a mixture, for this call only. */
  readonly references: (turn: Turn, transcript: readonly Message[]) => Promise<string | undefined>
  /** The context in which the error of a call is classified. */
  readonly errorContext: (route: Route, stalled: boolean) => ErrorContext
  readonly idleLimits: (route: Route) => IdleLimits
  /** The changes that every request to the model needs, besides those of the turn. */
  readonly repairsFor: (route: Route) => Repairs
  /** Makes a side call, which a stop of the turn cancels. */
  readonly side: SideCall
  readonly summariser: Summariser
  /** The marks of what the turn has read before the call. */
  readonly getReading?: (turn: Turn) => Reading | Promise<Reading>
  /** Absent: no provider searches the web by itself. */
  readonly serverSearch?: ServerSearch
  /** Hooks that change answers. While there are any, the text of an answer is shown when it is whole. */
  readonly answerHooks?: () =>
    | { readonly transform: (turn: Turn, text: string) => Promise<string | undefined> }
    | undefined
  /** Masks secrets of the tenant in the message of a failure. */
  readonly redact?: (text: string) => string
}

export type ToolEffects = {
  readonly schemas: () => readonly ToolSchema[]
  readonly run: (calls: readonly ToolCall[]) => AsyncIterable<Result>
}

export type StreamEffects = {
  /** Shows a piece of the arguments of a call. */
  readonly generate: (tool: string, piece: string) => void
  readonly append: (delta: Delta) => void
  /** Takes back the deltas of the call so far. Subscribers are told to drop them. */
  readonly restart: (reason: string) => void
  /** Ends the deltas of a call: emits the buffered ones (`flush`) or drops them. */
  readonly end: (options: { readonly flush: boolean }) => void
}

export type BillingEffects = {
  /** Estimates the usage of a call with this output, for a provider that does not report it. */
  readonly estimate: (output: string) => Usage
  /** Takes the usage of the side calls since the last call. */
  readonly takeSideUsage: () => Usage | undefined
  /** Reserves the most that a call can cost. Without a limit that needs it nothing is awaited. */
  readonly reserve: (turn: Turn, chosen: ChosenModel) => Promise<Reserved> | Reserved
  /** Reports usage that the turn does not contain yet. */
  readonly report: (turn: Turn, usage: Usage) => void
}

export type TurnEffects = {
  readonly model: ModelEffects
  readonly tools: ToolEffects
  readonly stream: StreamEffects
  readonly billing: BillingEffects
}

export type ModelDefaults = NonNullable<Settings['model']>

export function createPerform(effects: TurnEffects): Perform {
  return (step, turn) => perform(step, turn, effects)
}

async function* perform(step: Step, turn: Turn, effects: TurnEffects): AsyncGenerator<Result> {
  if (step.do === 'call-model') yield reportUsage(await callModel(step, turn, effects), turn, effects.billing)
  else if (step.do === 'run-tools') yield* effects.tools.run(step.calls)
  else if (step.do === 'compress') yield reportUsage(await compress(turn, effects), turn, effects.billing)
}

/** Reports the usage of a call, with that of side calls. */
function reportUsage<R extends Extract<Result, { of: 'model' | 'summary' | 'failure' }>>(
  result: R,
  turn: Turn,
  billing: BillingEffects,
): R {
  const sideUsage = billing.takeSideUsage()
  const usage = sideUsage ? addUsage(result.usage ?? noUsage, sideUsage) : result.usage
  billing.report(turn, usage ?? noUsage)
  return usage ? { ...result, usage } : result
}

type ModelStep = Extract<Step, { do: 'call-model' }>

type ModelResult = Extract<Result, { of: 'model' | 'failure' }>

async function callModel(step: ModelStep, turn: Turn, effects: TurnEffects): Promise<ModelResult> {
  const { model, billing } = effects
  const chosen = model.choose(turn)
  if (!chosen) return { of: 'failure', failure: { kind: 'unconfigured', message: model.explainUnavailable(turn) } }
  // Created before the first wait, because a stop aborts only the controllers that exist.
  const controller = model.abortable()
  const reserving = billing.reserve(turn, chosen)
  const reserved = reserving instanceof Promise ? await reserving : reserving
  if (!reserved.ok) return { of: 'failure', failure: reserved.failure, key: chosen.endpoint.id }
  try {
    const reading = getReading(model, turn)
    const read = reading instanceof Promise ? await reading : reading
    return await callReserved(step, turn, effects, { chosen, controller, reading: read })
  } finally {
    reserved.release()
  }
}

type ReservedCall = {
  readonly chosen: ChosenModel
  readonly controller: AbortController
  readonly reading: Reading
}

async function callReserved(
  step: ModelStep,
  turn: Turn,
  effects: TurnEffects,
  { chosen, controller, reading }: ReservedCall,
): Promise<ModelResult> {
  const { model, stream, billing } = effects
  const output = { text: '', thinking: '', searches: 0, isRequested: false, isOver: false }
  // Drops the deltas of an attempt that has failed or was cancelled.
  const isGivenUp = () => output.isOver || controller.signal.aborted
  const shownTurn = { turn, stream, isGivenUp, reading, isWhole: hasAnswerHooks(model) }
  const { shown, onTextDiscarded } = showDeltas(output, shownTurn)
  const release = model.lease(chosen)
  try {
    controller.signal.throwIfAborted()
    await failpoint('before-model')
    const request = await requestFor(step, turn, effects, chosen)
    output.isRequested = true
    const onServerSearch: PendingModelCall['onServerSearch'] = (search) => {
      if (search === 'begun') output.searches++
      // At once: the call may break before its end, and its text stays.
      model.serverSearch?.note(turn)
    }
    const onArguments: PendingModelCall['onArguments'] = (tool, piece) => {
      if (!isGivenUp()) stream.generate(tool, piece)
    }
    const call = { request, chosen, controller, onDelta: shown.push, onTextDiscarded, onServerSearch, onArguments }
    const { message: written, usage } = await send(call, model)
    shown.end()
    stream.end({ flush: true })
    const message = await transformAnswer(withReading(written, reading), turn, model)
    const answer = await checkAnswer(message, turn)
    if (!callsIn(message).length) await failpoint('before-final')
    const billed = billCall(usage, billing.estimate(renderReply(message)), chosen)
    const failure = message.stop === 'refused' ? refusal(textIn(message)) : undefined
    release(failure)
    return failure
      ? { of: 'failure', failure, partial: output.text, usage: billed, key: chosen.endpoint.id }
      : { of: 'model', ...answer, usage: billed, promptTokens: countPrompt(usage) }
  } catch (error) {
    shown.end()
    output.isOver = true
    const failure = await getFailure(error, chosen, model)
    // The time limit of the turn is no fault of the key.
    release(isTimeLimit(error) ? undefined : failure)
    const inCall = isStreamBroken(error) && error.inCall
    // The text stays when the user cancelled the call, or when the next call continues it.
    stream.end({ flush: failure.kind === 'aborted' || isContinued(failure, inCall) })
    const isAborted = failure.kind === 'aborted' && output.isRequested
    const used = estimateOutput(output, inCall || isAborted, billing)
    return {
      of: 'failure',
      failure,
      inCall,
      key: chosen.endpoint.id,
      ...(output.text && { partial: output.text }),
      ...(used && { usage: billInterrupted(used, chosen) }),
    }
  }
}

type ModelOutput = { text: string; thinking: string; readonly searches: number }
type ShownTurn = {
  readonly turn: Turn
  readonly stream: StreamEffects
  readonly isGivenUp: () => boolean
  readonly reading: Reading
  /** The text is shown when it is whole. */
  readonly isWhole: boolean
}

/** Passes the deltas of a call on, without fences, and collects them in `output`. */
function showDeltas(output: ModelOutput, { turn, stream, isGivenUp, reading, isWhole }: ShownTurn) {
  const shown = openCleanStream(reading.openLinks, (delta) => {
    if (isGivenUp()) return
    output[delta.of] += delta.text
    if (!isHeldBack(delta, turn, isWhole)) stream.append(delta)
  })
  const onTextDiscarded = () => {
    if (isGivenUp()) return
    shown.discardText()
    output.text = ''
    stream.restart('The text so far was thinking.')
  }
  return { shown, onTextDiscarded }
}

/** Providers bill nothing for a call without any output, unless it was cancelled here. */
function estimateOutput(
  { text, thinking, searches }: ModelOutput,
  isBilled: boolean,
  billing: BillingEffects,
): Usage | undefined {
  if (!isBilled && text + thinking === '' && searches === 0) return undefined
  return { ...billing.estimate(text + thinking), ...(searches && { webSearches: searches }) }
}

/** 0 when the provider reports no usage. */
const countPrompt = ({ input, cachedRead, cachedWrite }: Usage): number => input + cachedRead + cachedWrite

/** Renders a whole reply, calls included, for an estimate of its tokens. */
const renderReply = ({ content }: AssistantMessage): string =>
  content.map((part) => (part.type === 'call' ? `${part.name} ${JSON.stringify(part.input)}` : part.text)).join('\n')

async function requestFor(
  step: ModelStep,
  turn: Turn,
  { model, tools }: TurnEffects,
  { route, endpoint: { quirks = {} } }: ChosenModel,
): Promise<ModelRequest> {
  const { options, draft } = turn
  const repairs = { ...model.repairsFor(route), ...turn.repairs }
  const defaults = model.defaults()
  const whole = await model.transcript(
    route,
    takesPdfs({ ...route, quirks, repairs }) ? route.contextWindow : undefined,
  )
  const transcript = repairs.images === 'unseen' ? hideImages(whole, await model.describeImages(whole)) : whole
  const mayCall = mayCallTools(step, options)
  const instructions = [await model.references(turn, transcript), step.instruction].filter((text) => text !== undefined)
  return {
    model: route.model,
    system: [model.system(turn), renderFormatInstruction(options.answerFormat, route.dialect, { quirks, repairs })]
      .filter(Boolean)
      .join('\n\n'),
    transcript,
    ...renderTools(mayCall ? tools.schemas() : [], options),
    draft,
    instruction: instructions.length ? instructions.join('\n\n') : undefined,
    maxTokens: repairs.maxTokens ?? options.maxTokens ?? defaults.max_tokens,
    temperature: options.temperature ?? defaults.temperature,
    parameters: options.parameters,
    answerFormat: options.answerFormat,
    reasoningEffort: options.reasoningEffort ?? defaults.reasoning_effort,
    cache: route.cache,
    serverSearch: mayCall && model.serverSearch?.isAllowed(turn),
    repairs,
  }
}

const mayCallTools = (step: ModelStep, options: TurnOptions): boolean => step.tools && !forbidsTools(options)

const renderTools = (tools: readonly ToolSchema[], options: TurnOptions) => ({
  tools,
  ...(tools.length && renderToolRules(options)),
})

/** Without tools of the client there is nothing that it could require. */
const renderToolRules = (options: TurnOptions): Pick<ModelRequest, 'toolChoice' | 'parallelToolCalls'> =>
  offeredTools(options).length
    ? {
        toolChoice: options.toolChoice === 'none' ? undefined : options.toolChoice,
        parallelToolCalls: options.parallelToolCalls,
      }
    : {}

type PendingModelCall = {
  readonly request: ModelRequest
  readonly chosen: ChosenModel
  readonly controller: AbortController
} & Pick<CallOptions, 'onDelta' | 'onTextDiscarded' | 'onServerSearch' | 'onArguments'>

async function send(
  { request, chosen: { route, endpoint }, controller, ...on }: PendingModelCall,
  model: ModelEffects,
) {
  const dialect = model.dialects[route.dialect]
  if (!dialect) throw new Error(`There is no dialect ${route.dialect}.`)
  const reply = await withIdleTimeout(controller, model.idleLimits(route), (signal, pulse) =>
    dialect.call(request, endpoint, { signal, ...on, onActivity: pulse, sleep }),
  )
  // Deeper JSON can be parsed but not stored.
  if (isTooDeeplyNested(reply.message, 2 * maxNesting)) throw new Error('The answer is nested too deeply.')
  return reply
}

async function getFailure(error: unknown, { route, endpoint }: ChosenModel, model: ModelEffects): Promise<Failure> {
  if (isTimeLimit(error)) return { kind: 'stalled', message: 'the time of the turn is over' }
  const context = { ...model.errorContext(route, error instanceof Stalled), key: endpoint.key }
  const { classifyError } = await import('#agent/providers/errors/classify-error.ts')
  const failure = classifyError(error, context)
  return model.redact ? { ...failure, message: model.redact(failure.message) } : failure
}

const isTimeLimit = (error: unknown) => error instanceof Stalled && error.isTurnTimeout

const isContinued = ({ kind }: Failure, inCall: boolean) => !inCall && (kind === 'network' || kind === 'stalled')

const refusal = (text: string): Failure => ({ kind: 'refused', message: text.slice(0, 300) })

const sleep: CallOptions['sleep'] = (ms, signal) => clock.wait(ms, signal && { signal })

async function compress(turn: Turn, { model }: TurnEffects): Promise<Extract<Result, { of: 'summary' | 'failure' }>> {
  const { stage } = turn
  const focus = stage.at === 'compressing' ? stage.focus : undefined
  const result = await model.summariser.summarise(turn, focus)
  if (result.of === 'nothing')
    return { of: 'failure', failure: { kind: 'too-long', message: 'there is nothing left to shorten' } }
  // Its usage is part of the side usage.
  return result.of === 'summary' ? { ...result, usage: noUsage } : result
}

// Keeps fences and unknown links out of what a model call shows and stores. It is the one place between the models and
// all readers: streams, chats and the transcript get what passes here.

type CleanStream = {
  readonly push: (delta: Delta) => void
  /** Drops the text that was kept back. */
  readonly discardText: () => void
  /** Passes on what was kept back. Called when the stream has ended, whether it is complete or not. */
  readonly end: () => void
}

/** Text and thinking are separate streams: a fence may begin in both. Nobody follows links of thinking. */
function openCleanStream(openLinks: OpenLinks | undefined, pass: (delta: Delta) => void): CleanStream {
  const filters = { text: openFenceFilter(), thinking: openFenceFilter() }
  let links = openLinks?.()
  const passText = (of: Delta['of'], text: string) => {
    const shown = of === 'text' && links ? links.push(text) : text
    if (shown) pass({ of, text: shown })
  }
  return {
    push: ({ of, text }) => passText(of, filters[of].push(text)),
    discardText: () => {
      filters.text = openFenceFilter()
      links = openLinks?.()
    },
    end: () => {
      passText('thinking', filters.thinking.flush())
      passText('text', filters.text.flush())
      const rest = links?.flush()
      if (rest) pass({ of: 'text', text: rest })
    },
  }
}

const withReading = (message: AssistantMessage, { marks, openLinks }: Reading): AssistantMessage => {
  const clean = withCleanText(message, openLinks)
  return marks ? { ...clean, marks } : clean
}

const filterWhole = (text: string, { push, flush }: LinkFilter): string => push(text) + flush()

/** Thinking with a signature stays as it is: providers reject it otherwise. */
function withCleanText(message: AssistantMessage, openLinks: OpenLinks | undefined): AssistantMessage {
  const content = message.content.map((part) => {
    if (part.type === 'call' || (part.type === 'thinking' && part.sealed)) return part
    const plain = removeFences(part.text)
    const text = part.type === 'text' && openLinks ? filterWhole(plain, openLinks()) : plain
    return text === part.text ? part : { ...part, text }
  })
  return content.every((part, index) => part === message.content[index]) ? message : { ...message, content }
}

// Checks the answers of turns that name a format. The validator is loaded with the first answer that has a schema.

type CheckedReply = { readonly reply: AssistantMessage; readonly checked?: CheckedAnswer }

/** Longer answers are parsed, but not validated. */
const maxValidatedChars = 1_000_000

/**
 * Returns the reply as it is stored. Text beside calls becomes thinking, because clients join all texts of an answer and
 * parse them. An answer that the model did not finish is not checked.
 */
async function checkAnswer(reply: AssistantMessage, { options, draft = '' }: Turn): Promise<CheckedReply> {
  const { answerFormat: format } = options
  if (!format) return { reply }
  if (callsIn(reply).length) return { reply: { ...reply, content: reply.content.map(textToThinking) } }
  if (reply.stop !== 'end' || !textIn(reply).trim()) return { reply }
  const { text, value } = parseJsonAnswer(draft + textIn(reply))
  if (value === undefined) return { reply, checked: { text, problems: ['It is not JSON.'] } }
  return { reply, checked: { text, problems: await findProblems(value, text.length, format) } }
}

type AssistantPart = AssistantMessage['content'][number]
const textToThinking = (part: AssistantPart): AssistantPart =>
  part.type === 'text' ? { type: 'thinking', text: part.text } : part

async function findProblems(value: unknown, chars: number, format: AnswerFormat): Promise<readonly string[]> {
  if (format.type === 'json_object')
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? [] : ['It is not a JSON object.']
  if (chars > maxValidatedChars) return []
  const { validateJson } = await loadSchemaValidator()
  return validateJson(format.schema, value)
}

/** Finds the JSON of an answer: all of it, the content of its only code fence, or all between the first and last bracket. */
function parseJsonAnswer(answer: string): { readonly text: string; readonly value?: unknown } {
  const whole = answer.trim()
  for (const text of listCandidates(whole)) {
    const value = parse(text)
    if (value !== undefined) return { text, value }
  }
  return { text: whole }
}

function* listCandidates(whole: string): Generator<string> {
  yield whole
  const fences = whole.split(/^```[\w-]*[ \t]*$/m)
  if (fences.length === 3) yield (fences[1] ?? '').trim()
  const first = whole.search(/[[{]/)
  const last = Math.max(whole.lastIndexOf('}'), whole.lastIndexOf(']'))
  if (first >= 0 && last > first) yield whole.slice(first, last + 1)
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/**
 * Holds back the text of answers in a format, and of those that hooks may change. The store sends the stored text when the
 * answer is whole, so that no client joins an answer and its repair.
 */
const isHeldBack = ({ of }: Delta, { options }: Turn, isWhole: boolean): boolean =>
  of === 'text' && (isWhole || options.answerFormat !== undefined)

const hasAnswerHooks = ({ answerHooks }: ModelEffects): boolean => answerHooks?.() !== undefined

/** Lets hooks change the final text. Text beside calls, and what the model did not finish, stays. */
async function transformAnswer(message: AssistantMessage, turn: Turn, model: ModelEffects): Promise<AssistantMessage> {
  const hooks = message.stop === 'end' && !callsIn(message).length ? model.answerHooks?.() : undefined
  const text = hooks ? textIn(message) : ''
  const changed = text.trim() ? await hooks?.transform(turn, text) : undefined
  if (changed === undefined || changed === text) return message
  const rest = message.content.filter(({ type }) => type !== 'text')
  const shown = model.redact ? model.redact(changed) : changed
  return { ...message, content: [...rest, { type: 'text', text: shown }] }
}
