/**
 * Moves the files of a session from one backend to another. The target is emptied first and the source is not changed,
 * so an interrupted move can be repeated.
 */

import {
  type PortableBackend,
  regeneratedFolders,
  type SnapshotEntry,
  type TreeEntry,
} from '#backends/portable-backend.ts'

/** Limit of file contents in one move. */
const maxBytes = 50 * 1024 * 1024
/** Limit of one file, which is held in memory. */
const maxFileBytes = 30 * 1024 * 1024
const maxFiles = 20_000

/** `bytes` is undefined when it is not known, as of a folder whose contents were not all listed. */
export type SkippedFile = { readonly path: string; readonly bytes: number | undefined }
export type TransferPlan = { readonly paths: ReadonlySet<string>; readonly skipped: readonly SkippedFile[] }

type Unit = { readonly bytes: number; readonly largest: number; readonly paths: string[]; readonly isLeft: boolean }

/**
 * Selects the paths to move: the smallest first, within the limits. A `.git` folder moves as a whole or not at all,
 * because a partial repository is broken.
 */
export function planTransfer(tree: readonly TreeEntry[], limit = maxBytes): TransferPlan {
  const take = new Set<string>()
  let room = limit
  const left: SkippedFile[] = []
  for (const [path, unit] of [...groupUnits(tree)].toSorted(([, a], [, b]) => a.bytes - b.bytes)) {
    const fits = unit.bytes <= room && unit.largest <= maxFileBytes && take.size + unit.paths.length <= maxFiles
    if (unit.isLeft || !fits) left.push({ path, bytes: unit.isLeft ? undefined : unit.bytes })
    else {
      room -= unit.bytes
      for (const each of unit.paths) take.add(each)
    }
  }
  return { paths: take, skipped: left.toSorted((a, b) => (a.path < b.path ? -1 : 1)) }
}

function groupUnits(tree: readonly TreeEntry[]): ReadonlyMap<string, Unit> {
  const units = new Map<string, Unit>()
  for (const { path, type, size, isPartial = false } of tree) {
    const { name, again } = parseUnit(path)
    const unit = units.get(name) ?? { bytes: 0, largest: 0, paths: [], isLeft: again }
    const bytes = type === 'file' ? size : 0
    unit.paths.push(path)
    units.set(name, {
      bytes: unit.bytes + bytes,
      largest: Math.max(unit.largest, bytes),
      paths: unit.paths,
      isLeft: unit.isLeft || isPartial || isUnnamed(path),
    })
  }
  return units
}

/** Bytes that are not UTF-8 are read as this character, with which no host finds the file. */
const isUnnamed = (path: string): boolean => path.includes('\uFFFD')

/** Returns the unit that a path moves with: itself, or a folder that must stay complete. */
function parseUnit(path: string): { readonly name: string; readonly again: boolean } {
  const parts = path.split('/')
  const at = parts.findIndex((part) => part === '.git' || regeneratedFolders.has(part))
  return at < 0
    ? { name: path, again: false }
    : { name: parts.slice(0, at + 1).join('/'), again: regeneratedFolders.has(parts[at] ?? '') }
}

/** Moves the files and returns those that were skipped, or that the host could not read. */
export async function moveFiles(from: PortableBackend, to: PortableBackend): Promise<readonly SkippedFile[]> {
  const tree = await from.tree()
  const { paths, skipped: planned } = planTransfer(tree)
  await to.clear()
  const unread = new Set(paths)
  if (paths.size) await to.restore(movedEntries(from, to, unread))
  const left = tree.filter(({ path }) => unread.has(path)).map(({ path, size }) => ({ path, bytes: size }))
  const skipped = [...planned, ...left].toSorted((a, b) => (a.path < b.path ? -1 : 1))
  if (skipped.length) {
    const list = skipped
      .map(({ path, bytes }) => (bytes === undefined ? `${path}\n` : `${path}\t${bytes} bytes\n`))
      .join('')
    await to.files.write(skippedListPath, new TextEncoder().encode(list))
  }
  return skipped
}

export const skippedListPath = '/tmp/left-behind.txt'

/** Passes entries on and removes their paths from `unread`, in which the files remain that a host could not read. */
export async function* removeRead(
  entries: AsyncIterable<SnapshotEntry>,
  unread: Set<string>,
): AsyncGenerator<SnapshotEntry> {
  for await (const entry of entries) {
    unread.delete(entry.path)
    yield entry
  }
}

async function* movedEntries(
  from: PortableBackend,
  to: PortableBackend,
  unread: Set<string>,
): AsyncGenerator<SnapshotEntry> {
  const [here, there] = [from.capabilities.root, to.capabilities.root]
  const renamed = (path: string) =>
    path === here || path.startsWith(`${here}/`) ? there + path.slice(here.length) : path
  const wanted = new Set(unread)
  for await (const entry of removeRead(
    from.snapshot((path) => wanted.has(path)),
    unread,
  ))
    yield entry.kind === 'link' && entry.target.startsWith('/')
      ? { ...entry, path: renamed(entry.path), target: renamed(entry.target) }
      : { ...entry, path: renamed(entry.path) }
}
