/**
 * Keeps the parts of a conversation that another answer or another message has replaced. Their rows are undone and stay
 * stored. A version that is chosen takes the place of the current one, which becomes a version itself.
 */

import { textIn } from '#agent/core/message.ts'
import type { ReplacedVersion } from '#durable/storage/session-metadata.ts'
import type { Session } from '../session.ts'
import { contributionsBefore } from './contributions.ts'

/** The oldest ones are dropped. */
const maxVersions = 50
/** A longer part is not kept: its rows would make the metadata large. */
const maxRows = 500
const previewChars = 200

/** One part of the conversation that has versions. */
export type VersionGroup = {
  /** The first message of the current version. */
  readonly message_id: string
  /** Oldest first. */
  readonly versions: readonly Version[]
}
type Version = {
  readonly id: string
  readonly at: string
  /** The beginning of its first message. */
  readonly preview: string
  readonly current: boolean
}

/** Called before the rows from `from` on are undone. */
export function keepVersion(session: Session, from: number): void {
  const { versions = [] } = session.meta
  const replaced = versionAfter(session, lastRowBefore(session, from))
  if (replaced) session.updateMeta({ versions: [...versions, replaced].slice(-maxVersions) })
}

function lastRowBefore({ journal }: Session, from: number): number {
  return journal.listRows().findLast(({ n }) => n < from)?.n ?? 0
}

/** The current part of the conversation behind a row. */
function versionAfter({ journal, meta }: Session, after: number): ReplacedVersion | undefined {
  const rows = journal.listRows().flatMap(({ n }) => (n > after ? [n] : []))
  if (!rows.length || rows.length > maxRows) return undefined
  const contributions = (meta.contributions ?? []).filter(({ seq, isFile }) => seq > after && isFile !== true)
  return { after, rows, contributions }
}

export function listVersions(session: Session): readonly VersionGroup[] {
  const { journal, meta } = session
  const reachable = listReachable(session)
  const rows = journal.listRows()
  const places = new Set(reachable.map(({ after }) => after))
  return [...places].flatMap((after) => {
    const first = rows.find(({ n }) => n > after)?.n
    if (first === undefined || first <= (meta.earlierThrough ?? 0)) return []
    const others = reachable.filter((one) => one.after === after).flatMap(({ rows: [n] }) => n ?? [])
    const versions = [...others, first].toSorted((one, other) => one - other)
    return { message_id: `msg_${first}`, versions: versions.map((n) => describe(session, n, n === first)) }
  })
}

/** Versions behind a row of the current conversation. The others are versions within a version. */
function listReachable({ journal, meta: { versions = [] } }: Session): readonly ReplacedVersion[] {
  const current = new Set([0, ...journal.listRows().map(({ n }) => n)])
  return versions.filter(({ after, rows }) => current.has(after) && journal.listStored(rows).length === rows.length)
}

function describe({ journal }: Session, n: number, current: boolean): Version {
  const { row, turn } = journal.row(n)
  const [entry] = row.entries
  const at = turn?.startedAt ?? entry?.at ?? 0
  const preview = entry ? textIn(entry.message).slice(0, previewChars).toWellFormed() : ''
  return { id: `msg_${n}`, at: new Date(at).toISOString(), preview, current }
}

/** Replaces the current one by a version. False: there is no such version. */
export function chooseVersion(session: Session, id: string): boolean {
  const { meta, store, journal } = session
  const chosen = listReachable(session).find(({ rows: [n] }) => id === `msg_${n}`)
  if (!chosen) return false
  const { after, rows, contributions } = chosen
  const replaced = versionAfter(session, after)
  const runs = [...new Set(rows.map((n) => journal.row(n).row.runId))]
  store.exchange(replaced?.rows ?? [], rows)
  const first = Math.min(rows[0] ?? after + 1, replaced?.rows[0] ?? after + 1)
  const kept = contributionsBefore(meta, after + 1).contributions ?? []
  session.updateMeta({
    versions: [...(meta.versions ?? []).filter((one) => one !== chosen), ...(replaced ? [replaced] : [])],
    contributions: [...kept, ...contributions],
    retractedFrom: Math.min(first, meta.retractedFrom ?? first),
    restoredRuns: [...(meta.restoredRuns ?? []), ...runs],
  })
  session.runInBackground(session.turns.project())
  return true
}
