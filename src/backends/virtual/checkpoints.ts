/** Implements the checkpoints of the virtual backend. */

import type { Change, Checkpoint, Checkpoints } from '../checkpoints.ts'
import type { CheckpointRow } from './checkpoint-rows.ts'
import {
  type Copies,
  pathOf,
  prepare,
  restore,
  type RestoreOptions,
  type Version,
  versionsSince,
} from './checkpoint-restore.ts'

/** Its `list` is synchronous. */
export type VirtualCheckpoints = Omit<Checkpoints, 'list'> & { readonly list: () => readonly Checkpoint[] }

/** Paths that the list shows of each checkpoint. */
const maxListedPaths = 200

export function virtualCheckpoints(options: RestoreOptions): VirtualCheckpoints {
  const { rows, blobs } = options
  let prepared: { readonly key: string; readonly copies: Copies } | undefined
  return {
    begin: rows.begin,
    mark: rows.mark,
    list: () => rows.list().map((row) => toCheckpoint(options, row)),
    has: (id, run) => rows.list().some((row) => row.id === id && row.run === run),
    changes: (id, maxBytes) => changes(options, id, maxBytes),
    async prepare(id, selection) {
      prepared = { key: JSON.stringify([id, selection]), copies: await prepare(options, id, selection) }
    },
    restore(id, selection) {
      if (prepared?.key !== JSON.stringify([id, selection])) return undefined
      return restore(options, { id, selection, copies: prepared.copies })
    },
    async finishRestore() {
      const refs = rows.takeUnused()
      // R2 takes at most 1000 keys at a time.
      for (let i = 0; i < refs.length; i += 1000) await blobs?.delete(refs.slice(i, i + 1000) as string[])
    },
  }
}

/** Without directories, which appear and vanish with their files. */
const selectChanged = `SELECT k.parent, k.name FROM kept k LEFT JOIN workspace w ON w.parent = k.parent AND w.name = k.name
  WHERE k.checkpoint = ? AND k.who & 1 AND k.kind <> 'directory' AND (k.kind <> 'absent' OR w.kind IS NOT 'directory')
  ORDER BY k.parent, k.name`

function toCheckpoint({ rows }: RestoreOptions, { id, run, at, omitted }: CheckpointRow): Checkpoint {
  const changed = rows.all<{ parent: string; name: string }>(selectChanged, id).map(pathOf)
  const left = JSON.parse(omitted) as string[]
  return { id, run, at, files: changed.slice(0, maxListedPaths), count: changed.length, left }
}

type Now = Pick<Version, 'kind' | 'size' | 'ref'>

async function* changes(options: RestoreOptions, id: number, maxBytes: number): ReturnType<Checkpoints['changes']> {
  for (const version of versionsSince(options, id)) {
    const { parent, name, kind } = version
    const path = pathOf(version)
    const query = 'SELECT kind, size, ref FROM workspace WHERE parent = ? AND name = ?'
    const [now] = options.table.all<Now>(query, parent, name)
    const isNone = (one: string | undefined) => one === undefined || one === 'absent' || one === 'directory'
    if (isNone(kind) && isNone(now?.kind)) continue
    if (kind === 'omitted' || Math.max(version.size, now?.size ?? 0) > maxBytes) {
      yield { path, tooLarge: true }
      continue
    }
    const before = await renderContent(options, version, version.first)
    const after = now && (await renderContent(options, { ...now, parent, name }))
    if (!isSame({ path, before, after })) yield { path, before, after }
  }
}

/** Reads the content of an old version, or the current one. */
async function renderContent(
  { rows, table, blobs }: RestoreOptions,
  { parent, name, kind, ref }: Pick<Version, 'parent' | 'name' | 'kind' | 'ref'>,
  checkpoint?: number,
): Promise<Uint8Array | undefined> {
  if (kind === 'link') return new TextEncoder().encode(ref ?? '')
  if (kind !== 'file') return undefined
  if (ref !== null) return new Uint8Array((await (await blobs?.get(ref))?.arrayBuffer()) ?? new ArrayBuffer(0))
  type Content = { readonly content: ArrayBuffer | null }
  const [row] =
    checkpoint === undefined
      ? table.all<Content>('SELECT content FROM workspace WHERE parent = ? AND name = ?', parent, name)
      : rows.all<Content>(
          'SELECT content FROM kept WHERE checkpoint = ? AND parent = ? AND name = ?',
          checkpoint,
          parent,
          name,
        )
  return new Uint8Array(row?.content ?? new ArrayBuffer(0))
}

const isSame = ({ before, after }: Change): boolean =>
  before?.byteLength === after?.byteLength && (before?.every((byte, i) => byte === after?.[i]) ?? true)
