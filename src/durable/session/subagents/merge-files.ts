/**
 * Copies the files that a subagent has changed into the workspace of its parent. A file that has changed there meanwhile
 * stays as it is, and the other version goes below /tmp. Repeating it changes nothing.
 */

import { log } from '#agent/core/log.ts'
import type { Files } from '#agent/core/backend.ts'
import type { SubagentFile, SubagentReport } from '#agent/core/subagent.ts'
import { unpack } from '#backends/tar.ts'
import { isOwnReset } from '#durable/platform/object-reset.ts'
import type { ChildRow, ChildRows } from './child-rows.ts'
import { digestOf, type SubagentFileChange, type FileChanges } from './files.ts'
import { withinLimit } from './reach.ts'
import type { Session } from '../session.ts'
import { type SessionStub } from '#durable/platform/addresses.ts'

type Merging = {
  readonly session: Session
  readonly rows: ChildRows
  readonly stubOf: (id: string) => SessionStub
}

/** The files of these may be incomplete, or cannot be reached. */
const isUnreadable = ({ status }: SubagentReport): boolean => ['error', 'stalled', 'unknown'].includes(status)

const maxTries = 3
const maxListed = 200

/** Failed attempts by the id of the subagent. */
const failures = new Map<string, number>()

/** The row with the files that were copied. Rejects when they cannot be read now. */
export async function mergeFiles(merging: Merging, id: string): Promise<ChildRow | undefined> {
  const { rows } = merging
  const row = rows.get(id)
  if (!row || row.state.at !== 'ended' || row.isMerged) return row
  const { report } = row.state
  const merged = isUnreadable(report) ? {} : await tryCopy(merging, row)
  const latest = rows.get(id)
  if (!latest || latest.state.at !== 'ended') return latest
  const next = { ...latest, isMerged: true as const, state: { ...latest.state, report: { ...report, ...merged } } }
  rows.put(next)
  return next
}

async function tryCopy(merging: Merging, row: ChildRow): Promise<Partial<SubagentReport>> {
  try {
    const files = await copyChanges(merging, row)
    failures.delete(row.id)
    return files.length ? { files: files.slice(0, maxListed) } : {}
  } catch (error) {
    const tries = (failures.get(row.id) ?? 0) + 1
    failures.set(row.id, tries)
    if (isOwnReset(error) || tries < maxTries) throw error
    failures.delete(row.id)
    log.warn('subagent.files_uncopied', 'The files of a subagent could not be copied.', { error })
    return { error: 'Its files could not be copied into the workspace.' }
  }
}

async function copyChanges({ session, stubOf }: Merging, { id, index }: ChildRow): Promise<readonly SubagentFile[]> {
  const { list, archive } = await withinLimit<FileChanges>(async () =>
    stubOf(id).subagents.changes(session.ownAuthority),
  )
  const changes = new Map(list.filter(({ path }) => isInside(path)).map((change) => [change.path, change]))
  const { files, capabilities } = session.toolRuntime.backend
  const target = { files, root: capabilities.root, other: `/tmp/subagents/${index}` }
  const done: SubagentFile[] = []
  for await (const entry of archive ? unpack(archive) : []) {
    const change = changes.get(entry.path)
    if (change && entry.kind === 'file') done.push(await writeChange(target, change, entry.bytes))
  }
  for (const change of changes.values()) if (change.change === 'deleted') done.push(await removeChange(target, change))
  return done
}

/** `other`: the folder for versions of files that have changed here too. */
type MergeTarget = { readonly files: Files; readonly root: string; readonly other: string }

async function writeChange(
  { files, root, other }: MergeTarget,
  change: SubagentFileChange,
  bytes: Uint8Array,
): Promise<SubagentFile> {
  const path = `${root}/${change.path}`
  const isFree = await isUnchanged(files, path, change)
  await files.write(isFree ? path : `${other}/${change.path}`, bytes)
  return { path: change.path, change: isFree ? change.change : 'conflict' }
}

async function removeChange({ files, root }: MergeTarget, change: SubagentFileChange): Promise<SubagentFile> {
  const path = `${root}/${change.path}`
  const isFree = await isUnchanged(files, path, change)
  if (isFree) await files.remove(path)
  return { path: change.path, change: isFree ? 'deleted' : 'conflict' }
}

/** Whether the file is still the one that was copied, or the change is here already. */
async function isUnchanged(files: Files, path: string, { base, digest }: SubagentFileChange): Promise<boolean> {
  const bytes = await files.read(path)
  const current = bytes && (await digestOf(bytes))
  return current === base || current === digest
}

const isInside = (path: string): boolean =>
  !path.startsWith('/') && path.split('/').every((part) => part !== '' && part !== '.' && part !== '..')
