/** Asks the tenant's object for similar texts, within the time that a search may wait. A failure finds nothing. */

import { log } from '#agent/core/log.ts'
import type { Authority } from '#agent/core/permission/authority.ts'
import type { Settings } from '#agent/core/settings.ts'
import type { FindSimilar } from '#db/search/similar.ts'
import { tenantStub } from '#durable/platform/addresses.ts'
import { withTimeout } from '#durable/platform/timeout.ts'
import { findTimeoutMs } from './recall.ts'

/** Undefined without an embedding model. */
export function createFindSimilar(env: Env, authority: Authority, settings: Settings = {}): FindSimilar | undefined {
  if (!settings.search?.embedding_model) return undefined
  const { tenantId } = authority
  return (text, session) => {
    const found = tenantStub(env, tenantId)
      .recall.find(authority, text, session)
      .catch((error: unknown) => {
        log.warn('recall.unreachable', 'The search by meaning failed; words are searched alone.', { error })
        return []
      })
    return withTimeout(found, findTimeoutMs, () => [])
  }
}
