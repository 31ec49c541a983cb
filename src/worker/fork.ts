/** Copying a session into another one of its tenant, as far as there is room. */

import type { SessionCopy } from '../durable/fork.ts'
import type { NewSession } from '../durable/session-meta.ts'
import type { SessionDO } from '../durable/session.ts'
import type { TenantSnapshot } from '../durable/tenant-snapshot.ts'
import { notFound } from './errors.ts'
import { limitStorage } from './limits.ts'
import { found } from './sessions.ts'

type Session = DurableObjectStub<SessionDO>
type Fork = {
  readonly spec: NewSession
  /** The last run that is copied; without it all of them are. */
  readonly upTo?: string
}
type Place = { readonly env: Env; readonly tenant: TenantSnapshot }

export async function fork({ env, tenant }: Place, source: Session, target: Session, { spec, upTo }: Fork) {
  const copy = found((await source.copy()) as unknown as SessionCopy | undefined)
  let rows = copy.rows
  try {
    if (upTo !== undefined) rows = rowsUpTo(copy, upTo)
    await limitStorage(env, tenant, copy.bytes)
  } catch (error) {
    await copy.files.cancel()
    throw error
  }
  return target.become({ ...copy, rows }, { source: copy.meta.source, ...spec })
}

function rowsUpTo({ rows }: SessionCopy, runId: string): SessionCopy['rows'] {
  const end = rows.findLastIndex((row) => row.runId === runId) + 1
  if (!end) throw notFound()
  return rows.slice(0, end)
}
