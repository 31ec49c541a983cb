/**
 * Judges what acts without a call of a model as the tool call that it amounts to, with the authority that it acts for:
 * scripts and monitors of jobs, deliveries, and paid requests of the API. Nobody is asked.
 */

import { sendAction, transcribeAction } from './tool-names.ts'
import type { Assessment } from '#agent/core/permission/approval.ts'
import type { Authority } from '#agent/core/permission/authority.ts'
import type { Settings } from '#agent/core/settings.ts'
import type { Risk, Services, Tool } from '#agent/core/tool.ts'
import {
  type ApprovalPolicy,
  appliesToSession,
  assessByRisk,
  hashCall,
  type SessionOrigin,
} from '#agent/policy/approval/approval.ts'
import { isUnattendedSource } from '#agent/policy/unattended.ts'
import { checkPermission } from './check-permission.ts'
import { tools as builtInTools } from './index.ts'
import { toolsFor } from './tools-for.ts'

/** `isOrdered`: a person who may allow it has ordered exactly this, so that only what nobody may allow is refused. */
export type OrderedAction = { readonly tool: string; readonly input: unknown; readonly isOrdered: boolean }

export type ActionScope = {
  readonly settings: Settings
  readonly origin: SessionOrigin
  /** With the roles as they are now. */
  readonly authority: Authority
  /** Those of a session, whose files and directory count. Absent: the action needs none. */
  readonly services?: Pick<Services, 'backend' | 'shell'>
}

/** `pending`: a person could allow it. */
export type ActionRefusal = { readonly status: 'refused' | 'pending'; readonly error: string }

/** Actions like those of tools that are none of the model's. */
const ownAction = (name: string, risk: Risk): Tool => ({
  name,
  toolset: name,
  description: '',
  inputSchema: {},
  needs: [],
  effect: 'effect',
  risk: () => risk,
  touches: () => 'nothing',
  run: () => Promise.reject(new Error(`${name} is no tool of a model.`)),
})

const actions: ReadonlyMap<string, Tool> = new Map(
  [...builtInTools, ownAction(sendAction, 'send'), ownAction(transcribeAction, 'spend')].map((tool) => [
    tool.name,
    tool,
  ]),
)

/** Undefined when it may act. */
export async function judgeAction(action: OrderedAction, scope: ActionScope): Promise<ActionRefusal | undefined> {
  const { tool: name, input, isOrdered } = action
  const tool = actions.get(name)
  if (!tool || !isOffered(tool, scope))
    return { status: 'refused', error: `Not run: it amounts to ${name}, and that tool is not allowed here.` }
  const { services } = scope
  const location = services ? `${services.backend.kind} ${services.shell.read().cwd}` : ''
  const call = { id: '', name, input, state: 'planned' as const, effect: tool.effect }
  const granted = isOrdered && { granted: hashCall({ tool: name, input, location }) }
  const judged = await checkPermission({ ...call, ...granted }, services ? tool : withoutAssessment(tool), {
    services: services ?? {},
    policy: () => createPolicy(scope),
    describeLocation: () => location,
    judge: () => Promise.resolve('escalate'),
    // The decision is not recorded.
    now: () => 0,
  })
  if (judged.do === 'run') return undefined
  if (judged.do === 'later')
    return { status: 'pending', error: `It needs approval: ${judged.awaits.reasons.join('; ')}.` }
  const { by, reason } = judged.decision
  return waitsForPerson.has(by)
    ? { status: 'pending', error: `It needs approval: ${reason}.` }
    : { status: 'refused', error: judged.refusal.error }
}

/** Permissions of a session were given for calls of its turns. */
function createPolicy({ settings, origin, authority }: ActionScope): ApprovalPolicy {
  const { mode, rules = [], unattended = 'deny' } = settings.approvals ?? {}
  return {
    mode,
    rules: rules.filter((rule) => appliesToSession(rule, origin)),
    grants: [],
    decisions: [],
    maxRisk: authority.maxRisk,
    ...(isUnattendedSource(origin.source) && { unattended }),
  }
}

const waitsForPerson: ReadonlySet<string> = new Set(['nobody', 'denials'])

/** No session is there for the tool to read: the order is judged by its risk and by the rules. */
function withoutAssessment(tool: Tool): Tool {
  const assess = (input: unknown): Assessment => assessByRisk(tool.risk(input), listTexts(input))
  return { ...tool, assess }
}

/** The texts that rules match. */
const listTexts = (input: unknown): readonly string[] =>
  typeof input === 'object' && input !== null
    ? Object.values(input)
        .flat()
        .filter((value): value is string => typeof value === 'string')
    : []

/** Whether settings and roles leave the tool, wherever its vendor and its services are. */
function isOffered(tool: Tool, { settings, origin, authority }: ActionScope): boolean {
  const { enabled, disabled } = settings.toolsets ?? {}
  const isOwn = tool.name === sendAction || tool.name === transcribeAction
  const { toolbox } = toolsFor({
    builtIn: [tool],
    // A selection of tools for the model says nothing about what it does not offer.
    ...(enabled && { enabled: isOwn ? [...enabled, tool.name] : enabled }),
    ...(isOwn && !enabled && { enabled: [tool.name] }),
    disabled,
    source: isOwn ? undefined : origin.source,
    bounds: authority.toolBounds,
    services: new Set(tool.needs),
  })
  return toolbox.has(tool.name)
}
