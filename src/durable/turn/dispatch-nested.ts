/** Dispatches one call of a program. Loaded with the first one. */

import { errorResult, type ToolMessage } from '#agent/core/message.ts'
import { maskSecretsInValue } from '#agent/core/secrets/mask-secrets.ts'
import type { NestedRequest } from '#agent/core/tool.ts'
import type { ToolCall } from '#agent/core/turn.ts'
import type { PermissionResult } from '#tools/check-permission.ts'
import { type DispatchOptions, dispatch } from '#tools/dispatch.ts'
import { maxLimits } from '#tools/limit-result.ts'
import type { ProgramLog } from './programs.ts'

const maxTextChars = 300

export async function dispatchNested(
  request: NestedRequest,
  options: DispatchOptions,
  log: ProgramLog,
): Promise<ToolMessage> {
  const { parent, id, tool, input, signal, onWait } = request
  const since = options.context.clock.now()
  const call: ToolCall = { id, name: tool.name, input, effect: tool.effect, state: 'running', since }
  const spent = log.explainLimit(tool.name)
  if (spent !== undefined) return errorResult(call, spent)
  const redactValue = options.redactor?.().redactValue ?? maskSecretsInValue
  log.started(parent, { id, name: tool.name, input: truncateTexts(redactValue(input)), since })
  const { subagents } = options.services
  const waitFor: DispatchOptions['waitFor'] = (_call, awaits) => {
    if (awaits.kind !== 'child' || !subagents) return Promise.resolve(undefined)
    log.waits(parent, id, awaits.workId)
    onWait()
    return subagents.wait(awaits.workId, signal)
  }
  const message = await dispatchOne(call, { ...nestedOptions(options, signal, parent), waitFor }, log)
  // Its subagents go on, and the call of the program gets their results.
  if (!message) return errorResult(call, 'The program has ended.')
  log.ended(parent, id, message)
  return message
}

async function dispatchOne(
  call: ToolCall,
  options: DispatchOptions,
  log: ProgramLog,
): Promise<ToolMessage | undefined> {
  for await (const result of dispatch([call], options)) {
    if ('decision' in result && result.decision) log.decided(result.decision)
    if (result.of === 'tool') return result.message
    if (result.of === 'later' && result.awaits.kind === 'child') return undefined
  }
  // Other tools with pending requests are not callable from programs.
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
