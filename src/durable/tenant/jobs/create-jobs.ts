/** Connects the jobs of a tenant with its settings, its keys, its skills and its sessions. */

import type { Authority } from '#agent/core/permission/authority.ts'
import { defaultSettings } from '#agent/core/settings.ts'
import type { SkillMiss, SkillView } from '#agent/core/skills/skill.ts'
import type { Sources } from '#agent/routing/route.ts'
import { keySource, openKeys } from '#durable/models/credentials.ts'
import { sourcesFor } from '#durable/models/catalog.ts'
import { createTenantFetch } from '../tenant-fetch.ts'
import type { TenantChats } from '../channels/chats.ts'
import type { ChangeCheck } from '../own-tenant.ts'
import type { TenantSkills } from '../skills/skills.ts'
import type { TenantSnapshot } from '../tenant-snapshot.ts'
import { checkTargets } from './check-targets.ts'
import { TenantJobs } from './jobs.ts'
import { defaultModelOf } from './preflight.ts'

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
  const stubOf = (sessionId: string) => env.SESSION.getByName(`t/${tenantId}/s/${sessionId}`)
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
    checkTargets: (authority, change) =>
      checkTargets({ env, tenantId, hasSession, findHome: tenant.findHome }, authority, change),
    sources,
    guardedFetch: createTenantFetch(env, tenantId, runInBackground),
    sessionOf: (sessionId) => ({
      runScript: (...given) => stubOf(sessionId).jobs.runScript(...given),
      start: (...given) => stubOf(sessionId).jobs.start(...given),
      outcome: (...given) => stubOf(sessionId).jobs.outcome(...given),
      discard: (...given) => stubOf(sessionId).jobs.discard(...given),
      notify: (...given) => stubOf(sessionId).jobs.notify(...given),
      stop: (...given) => stubOf(sessionId).runs.stop(...given),
    }),
    acceptMessage: (sessionId, authority, { key, text }) =>
      stubOf(sessionId).deliveries.submit(authority, { key, text, source: 'job', startsTurn: false }),
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
