/**
 * Runs tool calls. Every call of every tool passes this dispatcher, which asks for permission, gives the tool its
 * services, turns errors into results and limits the time of calls and the size of results. The loop orders the results.
 */

import type { ScheduleTimer } from '../agent/model/clock.ts'
import { errorResult, type ToolMessage } from '../agent/model/message.ts'
import { type RedactionStream, type Redactor, redactJson } from '../agent/model/redaction.ts'
import type { CallContext, Services, Tool, Toolbox, ToolResult } from '../agent/model/tool.ts'
import type { Result, ToolCall } from '../agent/model/turn.ts'
import { groupCalls } from './group-calls.ts'
import { type PermissionResult, type Refusal, renderRefusal } from './check-permission.ts'
import { openProgress } from './progress.ts'
import { runWithLimit } from './run-with-limit.ts'
import { describeToolTimeout, limitToolTime } from './time-limit.ts'

export type DispatchOptions = {
  readonly toolbox: Toolbox
  readonly services: Partial<Services>
  readonly context: Omit<CallContext, 'callId' | 'reportProgress'>
  /** Starts the timers of time limits and of progress. */
  readonly schedule: ScheduleTimer
  /** Receives what running calls print, and redacts it. */
  readonly progress?: {
    readonly emit: (progress: CallProgress) => void
    readonly openRedaction: () => RedactionStream
  }
  /** Decides whether a call may run. */
  readonly permit: (call: ToolCall, tool: Tool) => PermissionResult | Promise<PermissionResult>
  /** Characters of earlier results of the same batch. A batch is dispatched in several groups. */
  readonly usedChars?: number
  /** Masks secrets in results. Its secrets may change while a call runs. */
  readonly redactor?: () => Redactor
  /** Stores a long result and returns its path. */
  readonly spill: (callId: string, text: string) => Promise<string>
  /** Lets tests stop the process right before, during and right after a tool runs. */
  readonly failpoint?: (moment: 'before' | 'during' | 'after') => Promise<never> | undefined
  /** Reports a defect in a tool to the operator. */
  readonly logError: (error: unknown, tool: string) => void
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
const defaultMaxResultChars = 100_000
/** For all results of one batch. After it is used up, results longer than `minCharsPerResult` are spilled. */
const maxBatchChars = 200_000
const minCharsPerResult = 8_000
const previewChars = 1_500

/** Runs the calls concurrently and yields each result as soon as it exists. */
export async function* dispatch(calls: readonly ToolCall[], options: DispatchOptions): AsyncGenerator<Result> {
  const budget: BatchBudget = { remainingChars: maxBatchChars - (options.usedChars ?? 0), calls: calls.length }
  const running = new Map(calls.map((call) => [call.id, runCall(call, options, budget)]))
  while (running.size) {
    const result = await Promise.race(running.values())
    running.delete(callIdOf(result))
    yield result
  }
}

/** Returns the first planned calls that may run concurrently. The others have to wait for them. */
export const concurrentCalls = (
  calls: readonly ToolCall[],
  { toolbox, services }: Pick<DispatchOptions, 'toolbox' | 'services'>,
): readonly ToolCall[] => {
  const touchedBy = (call: ToolCall) => toolbox.get(call.name)?.touches(call.input, services) ?? 'nothing'
  return groupCalls(calls, touchedBy, maxConcurrent)[0] ?? []
}

type CallResult = Extract<Result, { of: 'tool' | 'later' }>

const callIdOf = (result: CallResult) => (result.of === 'tool' ? result.message.callId : result.callId)

/** The calls of a batch share one budget for the characters of their results, and one time limit. */
type BatchBudget = { remainingChars: number; readonly calls: number }

async function runCall(call: ToolCall, options: DispatchOptions, budget: BatchBudget): Promise<CallResult> {
  const tool = options.toolbox.get(call.name)
  if (!tool) return { of: 'tool', message: errorResult(call, `There is no tool named ${call.name} any more.`) }
  if (options.context.signal.aborted)
    return { of: 'tool', message: errorResult(call, 'Not run: the user stopped the turn.') }
  const permission = options.permit(call, tool)
  const permitted = permission instanceof Promise ? await permission : permission
  const decided = permitted.decision && { decision: permitted.decision }
  if (permitted.do === 'later') return { of: 'later', callId: call.id, awaits: permitted.awaits, ...decided }
  if (permitted.do === 'refuse') return { of: 'tool', message: refusalMessage(call, permitted.refusal), ...decided }
  await options.failpoint?.('before')
  const outcome = await runTool(tool, call, options, limitToolTime(tool.timeoutMs?.(call.input), budget.calls))
  await options.failpoint?.('after')
  if ('later' in outcome) return { of: 'later', callId: call.id, awaits: outcome.later, ...decided }
  return { of: 'tool', message: await toMessage(call, outcome, options, chargeBudget(tool, budget)), ...decided }
}

const refusalMessage = ({ id, name }: ToolCall, refusal: Refusal): ToolMessage => ({
  role: 'tool',
  callId: id,
  name,
  content: [{ type: 'text', text: renderRefusal(name, refusal) }],
  failed: true,
})

async function runTool(tool: Tool, call: ToolCall, options: DispatchOptions, limitMs: number): Promise<ToolResult> {
  const { context, schedule, services } = options
  const progress = options.progress && openCallProgress(call, options.progress, schedule)
  const base = { ...context, callId: call.id, ...(progress && { reportProgress: progress.report }) }
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

/** Returns the maximum length for a text of this length, and takes it from the budget. */
const chargeBudget = (tool: Tool, budget: BatchBudget) => (length: number) => {
  const max = Math.min(tool.maxResultChars ?? defaultMaxResultChars, Math.max(minCharsPerResult, budget.remainingChars))
  budget.remainingChars -= Math.min(length, max)
  return max
}

async function toMessage(
  call: ToolCall,
  outcome: Exclude<ToolResult, { later: unknown }>,
  options: DispatchOptions,
  maxCharsFor: (length: number) => number,
): Promise<ToolMessage> {
  const parts = redactParts(outcome.content, options, call.name)
  const content = await Promise.all(
    parts.map(async (part) =>
      part.type === 'text' && part.text.length > maxCharsFor(part.text.length)
        ? ({ type: 'text', text: await spillText(call.id, part.text, options) } as const)
        : part,
    ),
  )
  return { role: 'tool', callId: call.id, name: call.name, content, failed: outcome.failed }
}

/** In contents of files, values that only their names make suspicious are mostly code: the model has to see it. */
function redactParts(parts: Content, { redactor, toolbox }: DispatchOptions, name: string): Content {
  if (!redactor) return parts
  const { redact, redactFile } = redactor()
  const redactText = toolbox.get(name)?.toolset === 'file' ? redactFile : redact
  return parts.map((part) => (part.type === 'text' ? { type: 'text', text: redactJson(part.text, redactText) } : part))
}

type Content = Exclude<ToolResult, { later: unknown }>['content']

async function spillText(callId: string, text: string, { spill, logError }: DispatchOptions): Promise<string> {
  const preview = text.slice(0, previewChars)
  try {
    const path = await spill(callId, text)
    return JSON.stringify({ persisted_output: { path, characters: text.length, read_with: 'read_file' }, preview })
  } catch (error) {
    // When the workspace cannot store the text, the model still gets its beginning.
    logError(error, 'spill')
    return JSON.stringify({
      truncated: true,
      characters: text.length,
      preview: text.slice(0, defaultMaxResultChars / 2),
    })
  }
}
