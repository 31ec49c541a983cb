/** Checks a job when it is stored: whether its author may have it do this, and whether all that it names exists. */

import { checkPublicAddress } from '#agent/policy/network/network-address.ts'
import type { Authority } from '#agent/core/permission/authority.ts'
import type { Settings } from '#agent/core/settings.ts'
import { explainUnknownModel } from '#agent/routing/known-model.ts'
import type { Sources } from '#agent/routing/route.ts'
import { type JobChange, pinnedModel } from '#agent/schedule/job/job.ts'
import { parseTargets, renderTarget, type Target } from '#agent/schedule/job/targets.ts'
import { canExist } from '#durable/models/usable-model.ts'
import { explainMissingKey } from '#durable/platform/master-key.ts'
import type { OrderedAction } from '#tools/judge-action.ts'
import { sendAction } from '#tools/tool-names.ts'
import { resolveChat, type ResolveContext } from '../channels/resolve-chat.ts'
import type { TenantSnapshot } from '../tenant-snapshot.ts'
import { type JobFault, jobAuthority } from './build-job.ts'
import { reachesOthers } from './delivery-rows.ts'
import type { JobsTenant } from './create-jobs.ts'

type FindProject = JobsTenant['findProject']

type TargetContext = ResolveContext & {
  readonly hasSession: (authority: Authority, sessionId: string) => Promise<boolean>
}

type ChangeContext = TargetContext & {
  readonly snapshot: () => TenantSnapshot
  readonly sources: () => Promise<Sources>
  readonly findProject: FindProject
}

export const checkChange = async (
  context: ChangeContext,
  authority: Authority,
  change: JobChange,
): Promise<JobFault | undefined> =>
  (await judgeChange(context.snapshot().settings, authority, change)) ??
  checkModel(change, await context.sources()) ??
  (await checkProject(context.findProject, authority, change)) ??
  checkTargets(context, authority, change)

/** Its runs act for the key without the scopes that let an owner into every project. */
async function checkProject(
  find: FindProject,
  authority: Authority,
  { project_id: id }: JobChange,
): Promise<JobFault | undefined> {
  if (!id || (await find(jobAuthority(authority), id))) return undefined
  const isSeen = (await find(authority, id)) !== undefined
  const message = isSeen ? 'The key must be a member of the project.' : 'There is no such project.'
  return { kind: 'wrong', param: 'project_id', message }
}

function checkModel(change: JobChange, sources: Sources): JobFault | undefined {
  const pinned = pinnedModel(change)
  if (!('id' in pinned) || pinned.id === undefined || canExist(pinned.id, sources)) return undefined
  return { kind: 'wrong', param: 'model', message: explainUnknownModel(pinned.id, sources) }
}

async function checkTargets(
  context: TargetContext,
  authority: Authority,
  { deliver, monitor_url: url }: JobChange,
): Promise<JobFault | undefined> {
  const blocked = url ? checkPublicAddress(url, { ports: 'web' }) : undefined
  if (blocked !== undefined)
    return { kind: 'wrong', param: 'monitor_url', message: `This address may not be called: ${blocked}` }
  const parsed = deliver === undefined ? undefined : parseTargets(deliver)
  for (const target of parsed?.ok ? parsed.targets : []) {
    const message = await findProblem(context, authority, target)
    if (message !== undefined) return { kind: 'wrong', param: 'deliver', message }
  }
  return undefined
}

async function findProblem(context: TargetContext, authority: Authority, target: Target): Promise<string | undefined> {
  switch (target.kind) {
    case 'local':
    case 'origin':
      return undefined
    case 'session':
      return (await context.hasSession(authority, target.sessionId))
        ? undefined
        : `There is no session ${target.sessionId}.`
    case 'home':
    case 'chat': {
      const resolved = await resolveChat(context, target)
      return resolved.kind === 'unknown' ? resolved.detail : undefined
    }
    case 'webhook': {
      const blocked = checkPublicAddress(target.url, { ports: 'web' })
      if (blocked !== undefined) return `This address may not be called: ${blocked}`
      const missing = explainMissingKey(context.env)
      return missing === undefined ? undefined : `Results for webhooks are signed. ${missing}`
    }
  }
}

// Judges what a job will do as the tool calls that it amounts to. What a person could still approve is judged when it runs.

const origin = { source: 'cron' } as const

export async function judge(
  settings: Settings,
  authority: Authority,
  action: OrderedAction,
): Promise<string | undefined> {
  const { judgeAction } = await import('#tools/judge-action.ts')
  return (await judgeAction(action, { settings, origin, authority }))?.error
}

async function judgeChange(settings: Settings, by: Authority, change: JobChange): Promise<JobFault | undefined> {
  for (const [param, action] of listActions(change, by)) {
    const message = await judge(settings, by, action)
    if (message !== undefined) return { kind: 'wrong', param, message }
  }
  return undefined
}

export const sendTo = (target: string): OrderedAction => ({ tool: sendAction, input: { target }, isOrdered: true })

function listActions(
  { script, monitor_script: monitor, monitor_url: url, deliver }: JobChange,
  by: Authority,
): readonly (readonly [param: string, action: OrderedAction])[] {
  const run = (command: string) => ({ tool: 'terminal', input: { command }, isOrdered: true })
  const parsed = deliver === undefined ? undefined : parseTargets(deliver)
  const targets = parsed?.ok ? parsed.targets.filter((target) => reachesOthers(target, by)) : []
  return [
    ...(script ? [['script', run(script)] as const] : []),
    ...(monitor ? [['monitor_script', run(monitor)] as const] : []),
    ...(url ? [['monitor_url', { tool: 'web_extract', input: { urls: [url] }, isOrdered: true }] as const] : []),
    ...targets.map((target) => ['deliver', sendTo(renderTarget(target))] as const),
  ]
}
