/** Keeps what the running turn has read, so that an evicted session still knows it. */

import type { ToolMessage } from '../../../agent/model/message.ts'
import type { Authority, Exposure } from '../../../agent/model/permission/authority.ts'
import { exposureOf, exposureOfAuthority, joinExposures } from '../../../agent/policy/approval/exposure.ts'
import type { SessionMetadata } from '../../storage/session-metadata.ts'

export type ExposureLog = {
  readonly now: () => Exposure
  /** Called before the model sees the result. */
  readonly note: (input: unknown, message: ToolMessage) => void
  readonly add: (exposure: Exposure) => void
  /** The authority for calls of the turn, and for all that they start. */
  readonly authority: Authority
}

type Metadata = {
  readonly meta: () => Pick<SessionMetadata, 'exposure'>
  readonly updateMeta: (change: Pick<SessionMetadata, 'exposure'>) => void
}

export function openExposureLog({ meta, updateMeta }: Metadata, runId: string, authority: Authority): ExposureLog {
  const stored = (): Exposure => {
    const { exposure } = meta()
    return exposure?.runId === runId ? exposure : {}
  }
  const now = () => joinExposures(stored(), exposureOfAuthority(authority))
  const known = now()
  const add = (exposure: Exposure) => {
    const before = stored()
    const after = joinExposures(before, exposure)
    if (after.isForeign !== before.isForeign || after.isPrivate !== before.isPrivate)
      updateMeta({ exposure: { runId, ...after } })
  }
  return {
    now,
    note(input, { name, content }) {
      const text = content.map((part) => (part.type === 'text' ? part.text : '')).join('\n')
      add(exposureOf(name, input, text))
    },
    add,
    authority: known.isForeign || known.isPrivate ? { ...authority, exposure: known } : authority,
  }
}
