/** Connects the jobs of a tenant with its settings, its keys, its skills and its sessions. */

import type { Authority } from '#agent/core/permission/authority.ts'
import { defaultSettings, type Settings } from '#agent/core/settings.ts'
import type { SkillMiss, SkillView } from '#agent/core/skills/skill.ts'
import type { Sources } from '#agent/routing/route.ts'
import { keySource, openKeys } from '#durable/models/credentials.ts'
import { sourcesFor } from '#durable/models/catalog.ts'
import { createTenantFetch } from '../tenant-fetch.ts'
import type { TenantChats } from '../channels/chats.ts'
import type { ChangeCheck } from '../tenant-part.ts'
import type { TenantSkills } from '../skills/skills.ts'
import type { TenantSnapshot } from '../tenant-snapshot.ts'
import { TenantJobs } from './jobs.ts'
import { defaultModelOf } from './preflight.ts'
import { checkPublicAddress } from '#agent/policy/network/network-address.ts'
import { explainUnknownModel, isKnownModel } from '#agent/routing/known-model.ts'
import { resolveMixture } from '#durable/models/mixture-of-agents.ts'
import { isVirtualModel } from '#durable/models/model-routes.ts'
import { type JobChange, pinnedModel } from '#agent/schedule/job/job.ts'
import { parseTargets, renderTarget, type Target } from '#agent/schedule/job/targets.ts'
import type { OrderedAction } from '#tools/judge-action.ts'
import { sendAction } from '#tools/tool-names.ts'
import { narrowByRoles } from '#agent/core/permission/roles.ts'
import { reachesOthers } from './delivery-rows.ts'
import { explainMissingKey } from '#durable/platform/master-key.ts'
import type { JobFault } from './build-job.ts'
import { resolveChat, type ResolveContext } from '../channels/resolve-chat.ts'
import { sessionStub } from '#durable/platform/addresses.ts'

/** The parts of the tenant's object that jobs use. */
export type JobsTenant = {
  readonly env: Env
  readonly tenantId: string
  readonly sql: SqlStorage
  readonly mayChange: ChangeCheck
  readonly snapshot: () => TenantSnapshot
  readonly skills: Pick<TenantSkills, 'view'>
  /** The home chat of a platform. */
  readonly findHome: TenantChats['findHome']
  readonly armAlarm: () => void
  readonly runInBackground: (work: Promise<unknown>) => void
}

/** The limit of a tenant without one of its own. */
const defaultMaxJobs = 10_000

export function createTenantJobs(tenant: JobsTenant): TenantJobs {
  const { env, tenantId, snapshot, runInBackground } = tenant
  const stubOf = (sessionId: string) => sessionStub(env, tenantId, sessionId)
  const hasSession = async (authority: Authority, sessionId: string) =>
    (await stubOf(sessionId).info.get(authority)) !== undefined
  const sources = async (): Promise<Sources> => {
    const current = snapshot()
    const tenantKeys = keySource(await openKeys(env, current), current.settings)
    return sourcesFor(env, { id: tenantId, settings: current.settings, tenantKeys }, runInBackground)
  }
  return new TenantJobs({
    ...tenant,
    zone: () => snapshot().settings.timezone ?? defaultSettings.timezone,
    maxJobs: () => snapshot().limits.jobs ?? defaultMaxJobs,
    defaultModel: async () => defaultModelOf(await sources()),
    checkTargets: async (authority, change) =>
      (await judgeChange(snapshot().settings, authority, change)) ??
      checkModel(change, await sources()) ??
      checkTargets({ env, tenantId, hasSession, findHome: tenant.findHome }, authority, change),
    judgeDelivery: (authority, target) =>
      judge(snapshot().settings, narrowByRoles(authority, snapshot().settings.roles), sendTo(target)),
    sources,
    guardedFetch: createTenantFetch(env, tenantId, runInBackground),
    sessionOf: (sessionId) => ({
      runScript: (...given) => stubOf(sessionId).jobs.runScript(...given),
      judge: (...given) => stubOf(sessionId).jobs.judge(...given),
      start: (...given) => stubOf(sessionId).jobs.start(...given),
      outcome: (...given) => stubOf(sessionId).jobs.outcome(...given),
      discard: (...given) => stubOf(sessionId).jobs.discard(...given),
      notify: (...given) => stubOf(sessionId).jobs.notify(...given),
      stop: (...given) => stubOf(sessionId).runs.stop(...given),
    }),
    hasSession,
    acceptMessage: (sessionId, authority, { key, text, marks }) =>
      stubOf(sessionId).injected.submit(authority, { key, text, marks, source: 'job', startsTurn: false }),
    loadSkills: (authority, names) =>
      Promise.all(
        names.map(async (name) => {
          const found: SkillView | SkillMiss = await tenant.skills.view(authority, name)
          const text = found.kind === 'skill' ? found.content : undefined
          return { name, ...(text !== undefined && { text }) }
        }),
      ),
  })
}

function checkModel(change: JobChange, sources: Sources): JobFault | undefined {
  const pinned = pinnedModel(change)
  if (!('id' in pinned) || pinned.id === undefined || isKnown(pinned.id, sources)) return undefined
  return { kind: 'wrong', param: 'model', message: explainUnknownModel(pinned.id, sources) }
}

const isKnown = (id: string, sources: Sources): boolean =>
  isVirtualModel(id) || resolveMixture(id, sources.settings) !== undefined || isKnownModel(id, sources)

type TargetContext = ResolveContext & {
  readonly hasSession: (authority: Authority, sessionId: string) => Promise<boolean>
}

/** Checks when a job is stored that its addresses may be called and that its targets exist. */
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

async function judge(settings: Settings, authority: Authority, action: OrderedAction): Promise<string | undefined> {
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

const sendTo = (target: string): OrderedAction => ({ tool: sendAction, input: { target }, isOrdered: true })

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
