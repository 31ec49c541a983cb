/**
 * Goes on with media after their calls: stores what could not be stored, follows videos and images in queues to their
 * end, and deletes old screenshots.
 */

import type { Authority } from '#agent/core/permission/authority.ts'
import { log } from '#agent/core/log.ts'
import { MediaFailure } from '#backends/media/vendor.ts'
import { readQueuedImage } from '#durable/models/media/make-image.ts'
import { readVideo } from '#durable/models/media/make-video.ts'
import type { MadeFile } from '#durable/models/media/vendor-transport.ts'
import { clock } from '#durable/platform/clock.ts'
import { keepBytes } from './buy-once.ts'
import { type MediaHost, requireMedia, createTransport } from './media-host.ts'
import type { LateJob, MediaRow } from './media-rows.ts'
import { deleteScreenshot } from './screenshots.ts'
import { describeFile, storeKept, type StoredRow } from './store-media.ts'

/** A result for the conversation. `confirm` is called when it is durable there. */
export type LateResult = {
  readonly key: string
  readonly text: string
  /** The authority of the call that it is the result of. Absent: it is not known. */
  readonly by?: Authority
  readonly confirm: () => void
}

const pollMs = 15_000
const timeoutMs = 3_600_000

export async function continueMedia(host: MediaHost): Promise<readonly LateResult[]> {
  const results: LateResult[] = []
  for (const row of host.rows.listOpen()) {
    if (row.nextAt > clock.now()) break
    if (row.state === 'temporary') await deleteScreenshot(host, row)
    else {
      const result = row.state === 'kept' ? await storeAgain(host, row) : await follow(host, row)
      if (result) results.push(result)
    }
  }
  return results
}

async function storeAgain(host: MediaHost, row: MediaRow): Promise<LateResult | undefined> {
  if (!row.made) return end(host, row)
  const stored = await storeKept(host, { ...row, made: row.made })
  return row.late && stored.state !== 'kept' ? announce(host, stored, row.late) : undefined
}

async function follow(host: MediaHost, row: MediaRow): Promise<LateResult | undefined> {
  const { late, queuedId } = row
  if (!late || queuedId === undefined) return end(host, row)
  if (late.text !== undefined) return resultOf(host, row, late)
  if (row.file) return announce(host, { ...row, file: row.file }, late)
  // Before the request: an eviction in it does not make the alarm spin.
  host.rows.put({ ...row, nextAt: clock.now() + pollMs })
  try {
    const made = await readLate(host, late, queuedId)
    // Its call may have read it meanwhile.
    if (host.rows.get(row.id)?.state !== 'queued') return undefined
    if (made) return storeAgain(host, keepBytes(host, { ...row, stem: late.stem }, made))
    if (clock.now() - late.startedAt > timeoutMs) throw new MediaFailure('failed', 'It was not ready after an hour.')
    return undefined
  } catch (error) {
    if (!isFinal(error, late)) {
      log.warn('media.unpolled', 'A job could not be asked for; the alarm tries again.', { error })
      return undefined
    }
    return fail(host, row, late, error instanceof Error ? error.message : '')
  }
}

/** Undefined while the vendor works. */
function readLate(host: MediaHost, late: LateJob, id: string): Promise<MadeFile | undefined> {
  const wanted = { provider: late.provider, model: late.name }
  const transport = createTransport(host)
  if (late.use === 'image') return readQueuedImage(transport, requireMedia(host, 'image', wanted), id)
  return readVideo(transport, requireMedia(host, 'video', wanted), id)
}

/** Whether asking again is useless. A vendor that is busy or unreachable is asked until the time is over. */
const isFinal = (error: unknown, { startedAt }: LateJob): boolean =>
  (error instanceof MediaFailure && (error.kind === 'refused' || error.kind === 'unreadable')) ||
  clock.now() - startedAt > timeoutMs

async function announce(host: MediaHost, row: StoredRow, late: LateJob): Promise<LateResult> {
  const result = JSON.stringify({ success: true, ...(await describeFile(host, row.file)), model: row.model })
  const text = `[The ${late.use ?? 'video'} that you have started is ready. The system wrote this, not the user.]\n${result}\nTell the user, and write MEDIA:${row.file.path} to attach it.`
  host.rows.put({ ...row, state: 'queued', late: { ...late, text }, nextAt: clock.now() + pollMs })
  return resultOf(host, row, { ...late, text })
}

function fail(host: MediaHost, row: MediaRow, late: LateJob, reason: string): LateResult {
  const text = `[The ${late.use ?? 'video'} that you have started was not made. The system wrote this, not the user.]\n${JSON.stringify({ success: false, error: reason })}`
  host.rows.put({ ...row, late: { ...late, text }, nextAt: clock.now() + pollMs })
  return resultOf(host, row, { ...late, text })
}

function resultOf(host: MediaHost, row: MediaRow, { text = '', by }: LateJob): LateResult {
  return { key: `media ${row.queuedId}`, text, ...(by && { by }), confirm: () => void end(host, row) }
}

/** Nothing is left to do for the row. */
function end({ rows }: MediaHost, { nextAt: _nextAt, ...row }: MediaRow): undefined {
  rows.put({ ...row, state: 'done' })
}
