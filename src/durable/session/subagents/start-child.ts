/** Builds the first message of a subagent: its goal, its rights, its tools and its share of the parent's money. */

import { keyOf } from '#agent/core/permission/access.ts'
import { actAs, type Authority, narrow } from '#agent/core/permission/authority.ts'
import { totalUsage } from '#agent/core/turn.ts'
import { noUsage } from '#agent/core/usage.ts'
import { limitsOfGrant, grantFor, type SubagentGrant } from '#agent/policy/subagent/money.ts'
import { renderGoal, renderInstructions } from '#agent/policy/subagent/instructions.ts'
import { subagentLimits } from '#agent/policy/subagent/limits.ts'
import type { SubagentLimits } from '#agent/core/subagent.ts'
import { projectTextOf } from '#durable/storage/session-metadata.ts'
import { sessionUsage } from '#durable/storage/session-record.ts'
import { typedBy } from '#agent/untrusted/typed-text.ts'
import { hasWorkspaceFiles } from '#durable/storage/storage-usage.ts'
import { stricter } from '#durable/tenant/effective-limits.ts'
import type { TenantSnapshot } from '#durable/tenant/tenant-snapshot.ts'
import type { ChildRow } from './child-rows.ts'
import type { ChildStart } from './parent-session.ts'
import type { Session } from '../session.ts'

/** The limits of the session that delegates. */
export const limitsOf = ({ settings, tenant, meta }: Session): SubagentLimits =>
  subagentLimits(settings, tenant.limits, meta.subagent?.depth ?? 0)

/** `shares`: the number of subagents that start with what is left. `running`: those that may still spend. */
export function chooseGrant(session: Session, running: readonly SubagentGrant[], shares: number): SubagentGrant {
  const { tenant, meta, store } = session
  const limits = stricter(tenant.limits ?? {}, meta.settings.limits ?? {})
  const turn = store.current()
  const spending = {
    turn: turn && store.hasOpenTurn ? totalUsage(turn) : noUsage,
    session: sessionUsage(meta, store),
    granted: running,
  }
  return grantFor(limits, spending, shares)
}

/** The rights of the parent, limited to the tools of the subagent. Revoking the key of the parent ends the subagent too. */
export const childAuthority = (session: Session, { authority, tools }: ChildRow): Authority =>
  narrow(inNameOf(session, authority), { toolBounds: [tools] })

/** No person acts any more, but the rights stay those of the key or person that the work began with. */
export function inNameOf({ sessionId }: Pick<Session, 'sessionId'>, authority: Authority): Authority {
  const keyId = keyOf(authority)
  return { ...actAs(authority, { kind: 'session', id: sessionId }), ...(keyId !== undefined && { keyId }) }
}

export function createStart(session: Session, row: ChildRow, tenant: TenantSnapshot, grant: SubagentGrant): ChildStart {
  const { meta, settings, sql, sessionId, store, toolRuntime } = session
  const { task, runId } = row
  const { maxConcurrent, maxDepth, depth } = limitsOf(session)
  const own = { maxConcurrent, maxDepth, depth: depth + 1 }
  const model = task.model ?? settings.delegation?.model ?? modelOfParent(session, row)
  const project = projectTextOf(meta)
  const { limits: _limits, ...kept } = meta.isPolicyChecked ? meta.settings : {}
  const spec = {
    source: 'subagent',
    parentId: sessionId,
    title: task.goal.replace(/\s+/g, ' ').trim().slice(0, 60),
    settings: { ...kept, limits: limitsOfGrant(grant) },
    subagent: { runId, depth: own.depth, ...(project !== undefined && { project }) },
    fileMarks: meta.fileMarks ?? { isForeign: true as const },
    ...(model !== undefined && { model }),
  }
  const { outputSchema: schema } = task
  return {
    authority: childAuthority(session, row),
    runId,
    tenant,
    spec,
    message: renderGoal(task, toolRuntime.backend.capabilities.root),
    typed: typedBy(store.transcript()),
    options: {
      instructions: renderInstructions(task, own),
      ...(schema && { answerFormat: { type: 'json_schema', name: 'report', schema } }),
    },
    isResumed: row.isResumed ?? false,
    copiesFiles: meta.machine !== undefined || hasWorkspaceFiles(sql),
  }
}

/** The model of the run that has delegated. */
function modelOfParent({ store, journal, meta }: Session, { parentRun }: ChildRow): string | undefined {
  const current = store.current()
  const turn = current?.id === parentRun ? current : journal.turnOfRun(parentRun)
  return turn?.options.model ?? meta.model ?? undefined
}
