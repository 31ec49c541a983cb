/** Connects the jobs of a tenant with its settings, its keys, its skills and its sessions. */

import type { Authority } from '#agent/core/permission/authority.ts'
import { defaultSettings } from '#agent/core/settings.ts'
import type { SkillMiss, SkillView } from '#agent/core/skills/skill.ts'
import type { Sources } from '#agent/routing/route.ts'
import { keySource, openKeys } from '#durable/models/credentials.ts'
import { sourcesFor } from '#durable/models/catalog.ts'
import { createTenantFetch } from '../tenant-fetch.ts'
import type { TenantChats } from '../channels/chats.ts'
import type { Project } from '../projects/project.ts'
import type { ChangeCheck } from '../tenant-part.ts'
import type { TenantSkills } from '../skills/skills.ts'
import type { TenantSnapshot } from '../tenant-snapshot.ts'
import { TenantJobs } from './jobs.ts'
import { defaultModelOf } from './preflight.ts'
import { narrowByRoles } from '#agent/core/permission/roles.ts'
import { jobAuthority } from './build-job.ts'
import { sessionStub } from '#durable/platform/addresses.ts'

/** The parts of the tenant's object that jobs use. */
export type JobsTenant = {
  readonly env: Env
  readonly tenantId: string
  readonly sql: SqlStorage
  readonly mayChange: ChangeCheck
  readonly snapshot: () => TenantSnapshot
  readonly skills: Pick<TenantSkills, 'view'>
  readonly findProject: FindProject
  /** The home chat of a platform. */
  readonly findHome: TenantChats['findHome']
  readonly armAlarm: () => void
  readonly runInBackground: (work: Promise<unknown>) => void
}

/** Undefined when the caller is no member. */
type FindProject = (authority: Authority, id: string) => Promise<Project | undefined>

/** The limit of a tenant without one of its own. */
const defaultMaxJobs = 10_000

export function createTenantJobs(tenant: JobsTenant): TenantJobs {
  const { env, tenantId, snapshot, findProject, runInBackground } = tenant
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
    hasProject: async (authority, id) => (await findProject(jobAuthority(authority), id)) !== undefined,
    defaultModel: async (authority, id) => {
      const project = id === undefined ? undefined : await findProject(jobAuthority(authority), id)
      return project?.model ?? defaultModelOf(await sources())
    },
    checkTargets: async (authority, change) => {
      const context = { env, tenantId, hasSession, findHome: tenant.findHome, findProject, sources, snapshot }
      return (await import('./check-change.ts')).checkChange(context, authority, change)
    },
    judgeDelivery: async (authority, target) => {
      const { judge, sendTo } = await import('./check-change.ts')
      return judge(snapshot().settings, narrowByRoles(authority, snapshot().settings.roles), sendTo(target))
    },
    sources,
    modelOfProject: async ({ project, authority }) =>
      project === undefined ? undefined : (await findProject(authority, project))?.model,
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
