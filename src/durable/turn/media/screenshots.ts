/** Stores screenshots of the browser like other media, and deletes them after a day. */

import { decodeBase64Bytes } from '#agent/core/base64.ts'
import { hash53 } from '#agent/core/hash53.ts'
import { log } from '#agent/core/log.ts'
import { clock } from '#durable/platform/clock.ts'
import { retryDelayMs } from '#durable/platform/schedule.ts'
import { callKey } from './buy-once.ts'
import type { MediaHost } from './media-host.ts'
import type { MediaRow } from './media-rows.ts'
import { sessionBlobPrefix } from '#durable/platform/addresses.ts'

const lifetimeMs = 24 * 3_600_000
const maxDeletions = 10

/**
 * Returns its path in the workspace. Undefined when it could not be stored: the screenshot is still looked at. `jpeg`: in base64. The row is stored first,
 * so that the alarm also deletes what an interrupted call has left.
 */
export async function keepScreenshot(host: MediaHost, jpeg: string, callId: string): Promise<string | undefined> {
  const { rows, env, backend, tenantId, sessionId } = host
  const id = `screenshot ${callKey(host, callId)}`
  const bytes = decodeBase64Bytes(jpeg)
  const name = `screenshot-${hash53(id).toString(36)}.jpg`
  // A key of its own, not one of the content: deleting it takes nothing from another session.
  const key = sessionBlobPrefix(tenantId, sessionId, 'media') + name
  const file = { path: `media/${name}`, key, mime: 'image/jpeg', bytes: bytes.length }
  rows.put({ id, state: 'temporary', model: 'browser', file, nextAt: clock.now() + lifetimeMs, tries: 0 })
  host.arm()
  try {
    await env.BLOBS?.put(key, bytes, { httpMetadata: { contentType: file.mime } })
    await backend.files.write(file.path, bytes)
    return file.path
  } catch (error) {
    log.warn('browser.unstored', 'A screenshot could not be stored.', { error })
    return undefined
  }
}

/** A failure is logged, and the alarm tries again. */
export async function deleteScreenshot({ rows, env, backend }: MediaHost, row: MediaRow): Promise<void> {
  const tries = row.tries + 1
  // Before the calls: an eviction in them does not make the alarm spin.
  rows.put({ ...row, tries, nextAt: clock.now() + retryDelayMs(tries) })
  try {
    if (row.file) {
      await env.BLOBS?.delete(row.file.key)
      await backend.files.remove(row.file.path)
    }
    rows.delete(row.id)
  } catch (error) {
    log.warn('browser.undeleted', 'An old screenshot could not be deleted.', { error, tries })
    if (tries >= maxDeletions) rows.delete(row.id)
  }
}
