/**
 * What a program's calls pass through: the dispatcher, like every other call. They are written down as part of the call
 * of the program before they begin, so that after a crash it is known how far it had come.
 */

import { beginNested, endNested } from '../../agent/loop/nested.ts'
import type { ApprovalDecision } from '../../agent/model/approval.ts'
import { errorResult, type ToolMessage, textIn } from '../../agent/model/message.ts'
import type { View } from '../../agent/model/ports.ts'
import { maskSecretsInValue, maskSecrets } from '../../agent/model/mask-secrets.ts'
import type { NestedRequest, Programs } from '../../agent/model/tool.ts'
import { type Commit, addDecision, type NestedCall, type ToolCall, type Turn } from '../../agent/model/turn.ts'
import { explainNestedCallLimit } from '../../agent/policy/tool-loop-guard.ts'
import { type DispatchOptions, dispatch } from '../../tools/dispatch.ts'
import type { PermissionResult } from '../../tools/check-permission.ts'

/** The turn of the program: what its calls leave there. */
export type ProgramLog = {
  readonly begun: (parent: string, call: NestedCall) => void
  readonly ended: (parent: string, id: string, message: ToolMessage) => void
  readonly decided: (decision: ApprovalDecision) => void
  /** Why a tool may not be called any more in this turn. */
  readonly exhausted: (name: string) => string | undefined
}

type Written = { readonly turn: () => Turn; readonly save: (commit: Commit) => void; readonly write: () => void }

const MAX_PREVIEW = 200
const MAX_TEXT = 300

export function programLog(store: () => Written, look: () => View): ProgramLog {
  const put = (change: (turn: Turn) => Commit): void => {
    store().save(change(store().turn()))
    store().write()
  }
  return {
    begun: (parent, call) => put((turn) => beginNested(turn, parent, call)),
    ended: (parent, id, message) => {
      const preview = textIn(message).slice(0, MAX_PREVIEW)
      put((turn) => endNested(turn, parent, { id, name: message.name, failed: message.failed, preview }))
    },
    decided: (decision) => put((turn) => ({ turn: addDecision(turn, decision) })),
    exhausted: (name) => explainNestedCallLimit(store().turn(), name, look()),
  }
}

/** The same world, with programs in it that call its tools. */
export function withPrograms(world: DispatchOptions, run: Programs['run'], log: ProgramLog): DispatchOptions {
  const programs: Programs = {
    run,
    tool: (name) => world.toolbox.get(name),
    touches: (tool, input) => tool.touches(input, world.services),
    dispatch: (request) => nested(request, world, log),
  }
  return { ...world, services: { ...world.services, programs } }
}

async function nested(request: NestedRequest, world: DispatchOptions, log: ProgramLog): Promise<ToolMessage> {
  const { parent, id, tool, input, signal } = request
  const since = world.context.clock.now()
  const call: ToolCall = { id, name: tool.name, input, effect: tool.effect, state: 'running', since }
  const spent = log.exhausted(tool.name)
  if (spent !== undefined) return errorResult(call, spent)
  log.begun(parent, { id, name: tool.name, input: shortened(maskSecretsInValue(input)), since })
  const message = await one(call, innerWorld(world, signal), log)
  log.ended(parent, id, message)
  return message
}

async function one(call: ToolCall, world: DispatchOptions, log: ProgramLog): Promise<ToolMessage> {
  for await (const result of dispatch([call], world)) {
    if ('decision' in result && result.decision) log.decided(result.decision)
    if (result.of === 'tool') return result.message
  }
  // Tools whose result comes later are not callable from programs.
  throw new Error(`${call.name} brought no result to the program.`)
}

function innerWorld(world: DispatchOptions, signal: AbortSignal): DispatchOptions {
  const { backend } = world.services
  return {
    ...world,
    // Nobody looks at what a program reads.
    context: { ...world.context, signal, seesImages: false },
    // What read_file has shown to the model it has not shown to the program.
    services: { ...world.services, ...(backend && { backend: Object.create(backend) as typeof backend }) },
    async permit(call, tool) {
      return withoutWaiting(await world.permit(call, tool), call.name)
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

/** Enough to see what was called: long texts are cut. */
function shortened(value: unknown): unknown {
  if (typeof value === 'string') return value.length > MAX_TEXT ? `${maskSecrets(value).slice(0, MAX_TEXT)}…` : value
  if (Array.isArray(value)) return value.slice(0, 20).map(shortened)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, shortened(item)]))
}
