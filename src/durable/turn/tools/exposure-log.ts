/**
 * Keeps what the running turn has read, so that an evicted session still knows it. What earlier turns have read counts
 * for as long as its messages are sent to models.
 */

import type { Message, ToolMessage } from '#agent/core/message.ts'
import type { Authority, Exposure } from '#agent/core/permission/authority.ts'
import { getExposure, exposureOfAuthority, exposureOfMessages, joinExposures } from '#agent/policy/approval/exposure.ts'
import type { SessionMetadata } from '#durable/storage/session-metadata.ts'

export type ExposureLog = {
  readonly now: () => Exposure
  /** Called before the model sees the result. */
  readonly note: (input: unknown, message: ToolMessage) => void
  readonly add: (exposure: Exposure) => void
  /** The authority for calls of the turn, and for all that they start. */
  readonly authority: Authority
}

export type ReadingRun = {
  readonly id: string
  readonly authority: Authority
  /** The messages that its model has read. */
  readonly transcript: readonly Message[]
}

type ExposureMetadata = {
  readonly meta: () => Pick<SessionMetadata, 'exposure'>
  readonly updateMeta: (change: Pick<SessionMetadata, 'exposure'>) => void
}

export function openExposureLog(
  { meta, updateMeta }: ExposureMetadata,
  { id: runId, authority, transcript }: ReadingRun,
): ExposureLog {
  const stored = (): Exposure => {
    const { exposure } = meta()
    return exposure?.runId === runId ? exposure : {}
  }
  const before = joinExposures(exposureOfMessages(transcript), exposureOfAuthority(authority))
  const now = () => joinExposures(stored(), before)
  const opening = now()
  const add = (exposure: Exposure) => {
    const known = stored()
    const after = joinExposures(known, exposure)
    if (after.isForeign !== known.isForeign || after.isPrivate !== known.isPrivate)
      updateMeta({ exposure: { runId, ...after } })
  }
  return {
    now,
    note(input, { name, content }) {
      const text = content.map((part) => (part.type === 'text' ? part.text : '')).join('\n')
      add(getExposure(name, input, text))
    },
    add,
    authority: opening.isForeign || opening.isPrivate ? { ...authority, exposure: opening } : authority,
  }
}
