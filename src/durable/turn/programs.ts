/**
 * Dispatches the tool calls of a program like all other calls. Each is stored as part of the program's own call before
 * it starts, so that a crash leaves a record of how far the program came.
 */

import { beginNested, endNested } from '#agent/loop/nested.ts'
import type { ApprovalDecision } from '#agent/core/permission/approval.ts'
import { errorResult, type ToolMessage, textIn } from '#agent/core/message.ts'
import type { View } from '#agent/core/ports.ts'
import { maskSecretsInValue } from '#agent/core/secrets/mask-secrets.ts'
import type { Program, ProgramEnd } from '#agent/core/program.ts'
import type { NestedRequest, Programs } from '#agent/core/tool.ts'
import { type Commit, addDecision, type NestedCall, type ToolCall, type Turn } from '#agent/core/turn.ts'
import { joinMarks, type Marks, noMarks } from '#agent/core/marks.ts'
import { explainNestedCallLimit } from '#agent/policy/tool-loop-guard.ts'
import { type DispatchOptions, dispatch } from '#tools/dispatch.ts'
import { maxLimits } from '#tools/limit-result.ts'
import type { PermissionResult } from '#tools/check-permission.ts'

/** Records the calls of a program in its turn. */
export type ProgramLog = {
  readonly started: (parent: string, call: NestedCall) => void
  readonly ended: (parent: string, id: string, message: ToolMessage) => void
  readonly decided: (decision: ApprovalDecision) => void
  /** The reason why a tool may not be called any more in this turn. */
  readonly explainLimit: (name: string) => string | undefined
  readonly state: Programs['state']
}

type TurnWriter = { readonly turn: () => Turn; readonly save: (commit: Commit) => void; readonly write: () => void }

const maxPreviewChars = 200
const maxTextChars = 300

export function createProgramLog(store: () => TurnWriter, look: () => View): ProgramLog {
  const put = (change: (turn: Turn) => Commit): void => {
    store().save(change(store().turn()))
    store().write()
  }
  return {
    started: (parent, call) => put((turn) => beginNested(turn, parent, call)),
    ended: (parent, id, message) => {
      const preview = textIn(message).slice(0, maxPreviewChars)
      put((turn) => endNested(turn, parent, { id, name: message.name, failed: message.failed, preview }))
    },
    decided: (decision) => put((turn) => ({ turn: addDecision(turn, decision) })),
    explainLimit: (name) => explainNestedCallLimit(store().turn(), name, look()),
    state: {
      read: () => store().turn().programState,
      keep: (programState) => put((turn) => ({ turn: { ...turn, programState } })),
    },
  }
}

/** Adds programs, which can call the same tools, to the options of the dispatcher. */
export function withPrograms(options: DispatchOptions, run: Programs['run'], log: ProgramLog): DispatchOptions {
  const read = new Map<string, Marks>()
  const programs: Programs = {
    run: (program) => (program.language === 'python' ? runOnHost(options, program) : run(program)),
    toolbox: () => options.toolbox,
    touches: (tool, input) => tool.touches(input, options.services),
    state: log.state,
    dispatch: async (request) => {
      const message = await dispatchNested(request, options, log)
      read.set(request.parent, joinMarks(read.get(request.parent), message.marks))
      return message
    },
  }
  return { ...options, nestedMarks: (id) => read.get(id) ?? noMarks, services: { ...options.services, programs } }
}

async function runOnHost({ services: { backend } }: DispatchOptions, program: Program): Promise<ProgramEnd> {
  if (!backend) throw new Error('A program in Python needs the service backend.')
  const { runPython } = await import('#backends/python/run-python.ts')
  return runPython(backend, program)
}

async function dispatchNested(request: NestedRequest, options: DispatchOptions, log: ProgramLog): Promise<ToolMessage> {
  const { parent, id, tool, input, signal } = request
  const since = options.context.clock.now()
  const call: ToolCall = { id, name: tool.name, input, effect: tool.effect, state: 'running', since }
  const spent = log.explainLimit(tool.name)
  if (spent !== undefined) return errorResult(call, spent)
  const redactValue = options.redactor?.().redactValue ?? maskSecretsInValue
  log.started(parent, { id, name: tool.name, input: truncateTexts(redactValue(input)), since })
  const message = await dispatchOne(call, nestedOptions(options, signal, parent), log)
  log.ended(parent, id, message)
  return message
}

async function dispatchOne(call: ToolCall, options: DispatchOptions, log: ProgramLog): Promise<ToolMessage> {
  for await (const result of dispatch([call], options)) {
    if ('decision' in result && result.decision) log.decided(result.decision)
    if (result.of === 'tool') return result.message
  }
  // Tools with pending requests are not callable from programs.
  throw new Error(`${call.name} brought no result to the program.`)
}

function nestedOptions(options: DispatchOptions, signal: AbortSignal, parent: string): DispatchOptions {
  const { progress } = options
  const { backend } = options.services
  return {
    ...options,
    // A program reads results that are longer than the context of the model has room for.
    earlierResults: [],
    resultLimits: maxLimits,
    ...(progress && { progress: { ...progress, emit: (one) => progress.emit({ ...one, parent }) } }),
    // A program gets no images: no model looks at what it reads.
    context: { ...options.context, signal, seesImages: false, mayWaitFor: 'nothing' },
    // The model has not seen the files that the program reads: the record of shown files is a separate one.
    services: { ...options.services, ...(backend && { backend: Object.create(backend) as typeof backend }) },
    async permit(call, tool) {
      return withoutWaiting(await options.permit(call, tool), call.name)
    },
  }
}

function withoutWaiting(permitted: PermissionResult, name: string): PermissionResult {
  if (permitted.do !== 'later') return permitted
  const { decision } = permitted
  const reason = decision.reason || 'it needs consent'
  return {
    do: 'refuse',
    refusal: {
      status: 'denied',
      error: `Not run: ${reason}. A program cannot wait for the user's consent. Call ${name} itself with this input, outside of execute_code, and the user will be asked.`,
    },
    decision: { ...decision, did: 'denied', by: 'nobody', reason: `${reason}; a program cannot wait for a person` },
  }
}

/** Truncates long texts, which are masked: the record only shows what was called. */
function truncateTexts(value: unknown): unknown {
  if (typeof value === 'string') return value.length > maxTextChars ? `${value.slice(0, maxTextChars)}…` : value
  if (Array.isArray(value)) return value.slice(0, 20).map(truncateTexts)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, truncateTexts(item)]))
}
