/**
 * Runs tool calls. Every call of every tool passes this dispatcher, which asks for permission, gives the tool its
 * services, turns errors into results and limits the time of calls and the size of results. The loop orders the results.
 */

import type { ScheduleTimer } from '#agent/core/clock.ts'
import { errorResult, type ToolMessage } from '#agent/core/message.ts'
import type { Authority } from '#agent/core/permission/authority.ts'
import { type RedactionStream, redactJson, type Redactor } from '#agent/core/secrets/redaction.ts'
import type { PendingRequest } from '#agent/core/pending-request.ts'
import type { CallContext, Services, Tool, Toolbox, ToolResult } from '#agent/core/tool.ts'
import { joinMarks, type Marks, noMarks } from '#agent/core/marks.ts'
import type { Result, ToolCall } from '#agent/core/turn.ts'
import type { CombinedAnswer } from '#agent/plugins/hook-answers.ts'
import { groupCalls } from './group-calls.ts'
import { type PermissionResult, type PermissionRefusal, renderRefusal } from './check-permission.ts'
import {
  maxLimits,
  openBatch,
  type ResultBatch,
  type ResultLimits,
  type Shorten,
  type Spill,
  spillText,
} from './limit-result.ts'
import { describeToolTimeout, limitToolTime } from './time-limit.ts'

export type DispatchOptions = {
  readonly toolbox: Toolbox
  readonly services: Partial<Services>
  readonly context: Omit<CallContext, 'callId' | 'callKey' | 'reportProgress'> & { readonly runId: string }
  /** Starts the timers of time limits and of progress. */
  readonly schedule: ScheduleTimer
  /** Receives what running calls print, and redacts it. */
  readonly progress?: {
    readonly emit: (progress: CallProgress) => void
    readonly openRedaction: () => RedactionStream
  }
  /** Decides what the result of each call holds, also of calls by programs. Absent: nothing is known. */
  readonly marks?: CallMarks
  /** Decides whether a call may run. */
  readonly permit: (call: ToolCall, tool: Tool) => PermissionResult | Promise<PermissionResult>
  /** Asks hooks about a call, and lets them change its result. Absent: there are none. */
  readonly hooks?: CallHooks
  /** Earlier results of the same batch. A batch is dispatched in several groups. */
  readonly earlierResults?: readonly ToolMessage[]
  /** Default: the highest ones. */
  readonly resultLimits?: ResultLimits
  /** Waits for the result of a call in memory. Undefined: it is delivered to the turn. */
  readonly waitFor?: (call: ToolCall, awaits: PendingRequest) => Promise<ToolMessage | undefined>
  /** The marks of what the calls of a program have read. */
  readonly nestedMarks?: (callId: string) => Marks
  /** Creates the nonce of a result that the model gets in a fence. */
  readonly newNonce?: () => string
  /** Masks secrets in results. Its secrets may change while a call runs. */
  readonly redactor?: () => Redactor
  /** Lets tests stop the process right before, during and right after a tool runs. */
  readonly failpoint?: (moment: 'before' | 'during' | 'after') => Promise<never> | undefined
} & Spill

export type CallHooks = {
  /** Undefined: no hook decides anything about the call. Must not throw. */
  readonly judge: (call: ToolCall) => Promise<CombinedAnswer | undefined> | undefined
  /** Gets a result as the model would, and returns another text for it. Must not throw. */
  readonly transform: (call: ToolCall, message: ToolMessage) => Promise<string | undefined> | undefined
}

export type CallMarks = {
  /** The authority of a call: with what the turn holds by now. */
  readonly authority: () => Authority
  /** Called before a call runs. The returned function gets the result before anybody else. */
  readonly begin: (
    call: ToolCall,
    tool: Tool,
    services: Partial<Services>,
  ) => Promise<(message: ToolMessage, reported: Marks) => Marks>
}

/** A piece of what a call prints: bounded, with secrets masked. */
export type CallProgress = {
  readonly callId: string
  readonly tool: string
  readonly delta: string
  /** The call of the program that made this call. */
  readonly parent?: string
}

const maxConcurrent = 8

/** Runs the calls concurrently and yields each result as soon as it exists. */
export async function* dispatch(planned: readonly ToolCall[], options: DispatchOptions): AsyncGenerator<Result> {
  const calls = options.hooks ? yield* askHooks(planned, options.hooks) : planned
  // Changed arguments may touch what another call of the group touches.
  const isChanged = calls.some(({ input }, index) => input !== planned[index]?.input)
  yield* isChanged ? runInTurn(calls, options) : runCalls(calls, options)
}

async function* runInTurn(calls: readonly ToolCall[], options: DispatchOptions): AsyncGenerator<Result> {
  const earlierResults = [...(options.earlierResults ?? [])]
  for (const call of calls)
    for await (const result of runCalls([call], { ...options, earlierResults })) {
      if (result.of === 'tool') earlierResults.push(result.message)
      yield result
    }
}

/** One after another, so that few isolates run at once. A decision is stored before its call runs. */
async function* askHooks(
  planned: readonly ToolCall[],
  { judge }: CallHooks,
): AsyncGenerator<Result, readonly ToolCall[]> {
  const calls: ToolCall[] = []
  for (const call of planned) {
    const answer = call.hooked || call.continues ? undefined : await judge(call)
    if (answer) yield { of: 'hooked', callId: call.id, ...answer }
    calls.push(answer ? { ...call, hooked: answer.ruling, input: 'input' in answer ? answer.input : call.input } : call)
  }
  return calls
}

async function* runCalls(calls: readonly ToolCall[], options: DispatchOptions): AsyncGenerator<Result> {
  const { earlierResults = [], resultLimits: limits = maxLimits } = options
  const shorten: Shorten = (callId, text, marks) => spillText({ callId, text, marks }, options, limits)
  const batch = openBatch({ earlier: earlierResults, limits, shorten })
  const running = new Map(calls.map((call) => [call.id, runCall(call, options, calls.length)]))
  while (running.size) {
    const result = await Promise.race(running.values())
    running.delete(callIdOf(result))
    if (result.of === 'tool') yield* boundResult(result, batch, options.toolbox)
    else yield result
  }
}

/** Earlier results of the batch are shortened first, so that the stored batch never exceeds its limit. */
async function* boundResult(result: ToolCallResult, batch: ResultBatch, toolbox: Toolbox): AsyncGenerator<Result> {
  const { message, shortened } = await batch.add(result.message, toolbox.get(result.message.name)?.maxResultChars)
  for (const place of shortened) yield { of: 'shortened', ...place }
  yield { ...result, message }
}

/** Returns the first planned calls that may run concurrently. The others have to wait for them. */
export const concurrentCalls = (
  calls: readonly ToolCall[],
  { toolbox, services }: Pick<DispatchOptions, 'toolbox' | 'services'>,
): readonly ToolCall[] => {
  if (calls.length === 1) return calls
  const touchedBy = (call: ToolCall) => toolbox.get(call.name)?.touches(call.input, services) ?? 'nothing'
  return groupCalls(calls, touchedBy, maxConcurrent)[0] ?? []
}

type ToolCallResult = Extract<Result, { of: 'tool' }>
type DispatchResult = ToolCallResult | Extract<Result, { of: 'later' }>

const callIdOf = (result: DispatchResult) => (result.of === 'tool' ? result.message.callId : result.callId)

/** `concurrent`: the number of calls that share one time limit. */
async function runCall(call: ToolCall, options: DispatchOptions, concurrent: number): Promise<DispatchResult> {
  const tool = options.toolbox.get(call.name)
  if (!tool) return { of: 'tool', message: errorResult(call, `There is no tool named ${call.name} any more.`) }
  if (options.context.signal.aborted)
    return { of: 'tool', message: errorResult(call, 'Not run: the user stopped the turn.') }
  const permission = call.continues ? ({ do: 'run' } as const) : options.permit(call, tool)
  const permitted = permission instanceof Promise ? await permission : permission
  const decided = permitted.decision && { decision: permitted.decision }
  if (permitted.do === 'later') return { of: 'later', callId: call.id, awaits: permitted.awaits, ...decided }
  if (permitted.do === 'refuse') return { of: 'tool', message: refusalMessage(call, permitted.refusal), ...decided }
  const result = await runPermitted(call, tool, options, concurrent)
  return { ...result, ...decided }
}

async function runPermitted(
  call: ToolCall,
  tool: Tool,
  options: DispatchOptions,
  concurrent: number,
): Promise<DispatchResult> {
  const reported: Marks[] = []
  const settleMarks = await options.marks?.begin(call, tool, options.services)
  await options.failpoint?.('before')
  const outcome = await runTool(
    tool,
    call,
    { ...options, reported },
    limitToolTime(tool.timeoutMs?.(call.input), concurrent),
  )
  await options.failpoint?.('after')
  const message = 'later' in outcome ? await options.waitFor?.(call, outcome.later) : toMessage(call, outcome, options)
  if (!message) return { of: 'later', callId: call.id, awaits: (outcome as { later: PendingRequest }).later }
  // By what was read, whatever a hook makes of it.
  const marks = settleMarks?.(message, joinMarks(...reported, message.marks, options.nestedMarks?.(call.id)))
  const shown = await transformResult(call, message, options)
  return { of: 'tool', message: marks ? markResult(shown, marks, options) : shown }
}

/** Hooks get a result with secrets masked, and what they return is masked again. Pictures stay. */
async function transformResult(call: ToolCall, message: ToolMessage, options: DispatchOptions): Promise<ToolMessage> {
  const text = await options.hooks?.transform(call, message)
  if (text === undefined) return message
  const images = message.content.filter(({ type }) => type !== 'text')
  return { ...message, content: redactParts([{ type: 'text', text }, ...images], options, call.name) }
}

/** The fence follows from the mark. */
function markResult(message: ToolMessage, marks: Marks, { newNonce }: DispatchOptions): ToolMessage {
  const nonce = marks.isForeign ? newNonce?.() : undefined
  return { ...message, marks, ...(nonce !== undefined && { nonce }) }
}

const refusalMessage = ({ id, name }: ToolCall, refusal: PermissionRefusal): ToolMessage => ({
  role: 'tool',
  callId: id,
  name,
  content: [{ type: 'text', text: renderRefusal(name, refusal) }],
  failed: true,
  marks: noMarks,
})

type ToolRunOptions = DispatchOptions & { readonly reported: Marks[] }

async function runTool(tool: Tool, call: ToolCall, options: ToolRunOptions, limitMs: number): Promise<ToolResult> {
  const { context, schedule, services, reported, marks } = options
  const progress = options.progress && openCallProgress(call, options.progress, schedule)
  const maxResultChars = options.resultLimits?.perResult
  const bounds = maxResultChars === undefined ? {} : { maxResultChars }
  const base = {
    ...context,
    ...(marks && { authority: marks.authority() }),
    ...bounds,
    callId: call.id,
    callKey: `${context.sessionId} ${context.runId} ${call.id}`,
    ...(call.continues && { continues: call.continues }),
    addMarks: (read: Marks) => void reported.push(read),
    ...(progress && { reportProgress: progress.report }),
  }
  try {
    const run = await runWithLimit({ limitMs, stop: context.signal, schedule }, async (signal) => {
      const running = tool.run(call.input, { ...base, signal }, services)
      await options.failpoint?.('during')
      return running
    })
    if ('result' in run) return run.result
    return failed(run.abandoned === 'stopped' ? stoppedText : describeToolTimeout(limitMs, call.effect))
  } catch (error) {
    if (context.signal.aborted) return failed(stoppedText)
    // Tools return expected failures, so a thrown error is a defect. Its details stay out of the model's context.
    options.logError(error, tool.name)
    return failed(`${tool.name} failed inside. Try another way, or tell the user.`)
  } finally {
    progress?.end()
  }
}

const openCallProgress = (
  { id: callId, name: tool }: ToolCall,
  { emit, openRedaction }: NonNullable<DispatchOptions['progress']>,
  schedule: ScheduleTimer,
) => openProgress({ schedule, openRedaction, emit: (delta) => emit({ callId, tool, delta }) })

const stoppedText = 'Stopped by the user before it ended. It may have taken effect.'

const failed = (error: string): ToolResult => ({
  content: [{ type: 'text', text: JSON.stringify({ error }) }],
  failed: true,
})

function toMessage(
  { id: callId, name }: ToolCall,
  { content, failed: isFailed }: Exclude<ToolResult, { later: unknown }>,
  options: DispatchOptions,
): ToolMessage {
  return { role: 'tool', callId, name, content: redactParts(content, options, name), failed: isFailed }
}

/**
 * In contents of files, values that only their names make suspicious are mostly code. In those of a trusted server, such as
 * mails, they are parts of links. The model has to see both.
 */
function redactParts(parts: ResultContent, { redactor, toolbox }: DispatchOptions, name: string): ResultContent {
  if (!redactor) return parts
  const { redact, redactFile } = redactor()
  const { toolset, reach } = toolbox.get(name) ?? {}
  const redactText = toolset === 'file' || reach === 'own' ? redactFile : redact
  return parts.map((part) => (part.type === 'text' ? { type: 'text', text: redactJson(part.text, redactText) } : part))
}

type ResultContent = Exclude<ToolResult, { later: unknown }>['content']

// Runs the work of a tool call within its time limit. The signal of the work aborts at the limit or when the user
// stops the turn. Work that does not end then is abandoned, and its late result or error is discarded.

/** Time for stopped work to return what it has so far. */
const stopGraceMs = 10_000

type LimitedRun = {
  readonly limitMs: number
  /** Aborts when the user stops the turn. */
  readonly stop: AbortSignal
  readonly schedule: ScheduleTimer
}

/** Returns the result of the work, or why there is none. Errors of the work are thrown. */
async function runWithLimit<T>(
  { limitMs, stop, schedule }: LimitedRun,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<{ readonly result: T } | { readonly abandoned: 'timeout' | 'stopped' }> {
  const limit = new AbortController()
  const abandoned = Promise.withResolvers<{ readonly abandoned: 'timeout' | 'stopped' }>()
  const cancels: (() => void)[] = []
  if (Number.isFinite(limitMs))
    cancels.push(
      schedule(limitMs, () => {
        // Resolved first, so that a result which the abort brings about is late.
        abandoned.resolve({ abandoned: 'timeout' })
        limit.abort(new Error('The time limit of the call is over.'))
      }),
    )
  const onStop = () => {
    limit.abort(stop.reason)
    cancels.push(schedule(stopGraceMs, () => abandoned.resolve({ abandoned: 'stopped' })))
  }
  stop.addEventListener('abort', onStop, { once: true })
  if (stop.aborted) onStop()
  try {
    const running = work(limit.signal).then((result) => ({ result }))
    // Nothing awaits abandoned work.
    running.catch(() => undefined)
    return await Promise.race([abandoned.promise, running])
  } finally {
    stop.removeEventListener('abort', onStop)
    for (const cancel of cancels) cancel()
  }
}

const intervalMs = 200
/** After `frequentEvents` of one call. */
const slowIntervalMs = 1_000
const frequentEvents = 50
const maxDeltaChars = 2_000
/** Longer than a private key, so that the end of one whose beginning is dropped is not shown. */
const maxBufferedChars = 20_000

// oxlint-disable-next-line no-control-regex -- colours begin with a control character
const colour = /\u001B\[[\d;:]{1,60}m/

type ReportOptions = {
  readonly schedule: ScheduleTimer
  readonly openRedaction: () => RedactionStream
  readonly emit: (delta: string) => void
}

type ProgressReport = {
  readonly report: (text: string) => void
  /** Drops what is not reported yet: the result of the call has it, but without colours. */
  readonly end: () => void
}

/**
 * Reports what a running call prints: the end of it, redacted, at most 2 KB per interval. The interval grows after some
 * events, so that a long command stays cheap for the object and its subscribers.
 */
export function openProgress({ schedule, openRedaction, emit }: ReportOptions): ProgressReport {
  let redaction: RedactionStream | undefined
  let [buffer, omittedChars, events, isOver, isColoured] = ['', 0, 0, false, false]
  let cancelTimer: (() => void) | undefined

  const flush = () => {
    cancelTimer = undefined
    redaction ??= openRedaction()
    const shown = redaction.push(buffer) + (isOver ? redaction.flush() : redaction.settle())
    buffer = ''
    if (shown === '') return
    events++
    const omitted = omittedChars + Math.max(0, shown.length - maxDeltaChars)
    omittedChars = 0
    emit((omitted > 0 ? `[... ${omitted} characters left out ...]\n` : '') + shown.slice(-maxDeltaChars))
  }
  const drop = (chars: number) => {
    omittedChars += chars
    buffer = buffer.slice(chars)
    // Text that it keeps does not continue in the buffer.
    redaction = undefined
  }
  return {
    report(text) {
      if (isOver || text === '') return
      buffer += text
      isColoured ||= colour.test(text)
      if (buffer.length > 2 * maxBufferedChars) drop(buffer.length - maxBufferedChars)
      cancelTimer ??= schedule(events < frequentEvents ? intervalMs : slowIntervalMs, flush)
    },
    end() {
      isOver = true
      cancelTimer?.()
      if (isColoured) flush()
    },
  }
}
