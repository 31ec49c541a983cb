/** Sends push messages to browsers. Loaded on demand: most tenants have none. */

import { historyDb } from '#db/shards/sharded-database.ts'
import { log } from '#agent/core/log.ts'
import { getSession } from '#db/session-directory.ts'
import { createTenantDb } from '#db/tenant-db.ts'
import { clock } from '#durable/platform/clock.ts'
import { unseal } from '#durable/platform/seal.ts'
import { createTenantFetch } from '../tenant-fetch.ts'
import { encryptPush } from './encrypt-push.ts'
import type { PushNotice } from './notice.ts'
import { type PushSubscription, type StoredVapid, vapidOwner } from './push.ts'
import { signVapid, type VapidPair } from './vapid.ts'

type Sending = {
  readonly env: Env
  readonly tenantId: string
  readonly vapid: StoredVapid
  readonly notices: readonly PushNotice[]
  readonly subscriptions: readonly PushSubscription[]
  readonly runInBackground: (work: Promise<unknown>) => void
}

const timeoutMs = 10_000
const maxTitleChars = 200
/** How long a service keeps a message for a browser that is off. */
const ttlSeconds = 86_400
const goneStatuses = new Set([404, 410])

/** Returns the endpoints that do not exist any more. Never rejects because of a service. */
export async function sendPush(sending: Sending): Promise<readonly string[]> {
  const { env, tenantId, vapid, notices, subscriptions } = sending
  const opened = await unseal(env, vapid.sealed, vapidOwner(tenantId))
  if (opened.kind === 'unreadable') {
    log.warn('push.unsent', 'Push messages cannot be signed.', { reason: opened.reason })
    return []
  }
  const pair: VapidPair = { publicKey: vapid.publicKey, privateKey: opened.secret }
  const texts = await Promise.all(notices.map((notice) => render(sending, notice)))
  const gone = await Promise.all(
    subscriptions.map(async (one) => ((await sendAll(sending, pair, one, texts)) ? undefined : one.endpoint)),
  )
  return gone.filter((endpoint) => endpoint !== undefined)
}

async function render({ env, tenantId }: Sending, notice: PushNotice): Promise<string> {
  const title = notice.title === undefined ? await findTitle(env, tenantId, notice.session_id) : notice.title
  return JSON.stringify({ ...notice, title: title?.slice(0, maxTitleChars) ?? null })
}

async function findTitle(env: Env, tenantId: string, sessionId: string): Promise<string | null> {
  try {
    return (await getSession(createTenantDb(historyDb(env, tenantId), tenantId), sessionId))?.record.title ?? null
  } catch (error) {
    log.warn('push.untitled', 'The title of a session could not be read.', { error })
    return null
  }
}

/** Returns false when the service does not know the browser any more. */
async function sendAll(
  { env, tenantId, runInBackground }: Sending,
  pair: VapidPair,
  { endpoint, p256dh, auth, contact }: PushSubscription,
  texts: readonly string[],
): Promise<boolean> {
  const guardedFetch = createTenantFetch(env, tenantId, runInBackground)
  try {
    for (const text of texts) {
      const { response } = await guardedFetch({
        url: endpoint,
        method: 'POST',
        headers: {
          authorization: await signVapid(pair, { endpoint, contact, now: clock.now() }),
          'content-encoding': 'aes128gcm',
          'content-type': 'application/octet-stream',
          ttl: String(ttlSeconds),
          urgency: 'high',
        },
        body: await encryptPush(text, { p256dh, auth }),
        timeoutMs,
        maxBytes: 65_536,
      })
      await response.body?.cancel()
      if (goneStatuses.has(response.status)) return false
      if (!response.ok) log.warn('push.refused', 'A push service refused a message.', { status: response.status })
    }
  } catch (error) {
    log.warn('push.unsent', 'A push message could not be sent.', { error })
  }
  return true
}
