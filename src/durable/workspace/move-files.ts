/**
 * Moves the files of a session from one backend to another. The target is emptied first and the source is not changed,
 * so an interrupted move can be repeated.
 */

import type { FileStat } from '#agent/core/backend.ts'
import type { PortableBackend, SnapshotEntry } from '#backends/portable-backend.ts'

/** Limit of file contents in one move. */
const maxBytes = 50 * 1024 * 1024
/** Limit of one file, which is held in memory. */
const maxFileBytes = 30 * 1024 * 1024
const maxFiles = 20_000

/** Folders that their tools can regenerate, and that are often useless on another host. */
const regenerated = new Set(['node_modules', '.venv', '__pycache__'])

export type SkippedFile = { readonly path: string; readonly bytes: number }
export type TransferPlan = { readonly paths: ReadonlySet<string>; readonly skipped: readonly SkippedFile[] }

/**
 * Selects the paths to move: the smallest first, within the limits. A `.git` folder moves as a whole or not at all,
 * because a partial repository is broken.
 */
export function planTransfer(tree: readonly FileStat[], limit = maxBytes): TransferPlan {
  const units = new Map<
    string,
    { bytes: number; largest: number; readonly paths: string[]; readonly remade: boolean }
  >()
  for (const { path, type, size } of tree) {
    const { name, again } = parseUnit(path)
    const unit = units.get(name) ?? { bytes: 0, largest: 0, paths: [], remade: again }
    const bytes = type === 'file' ? size : 0
    unit.bytes += bytes
    unit.largest = Math.max(unit.largest, bytes)
    unit.paths.push(path)
    units.set(name, unit)
  }
  const take = new Set<string>()
  const left: SkippedFile[] = []
  let room = limit
  for (const [path, unit] of [...units].toSorted(([, a], [, b]) => a.bytes - b.bytes)) {
    const fits = unit.bytes <= room && unit.largest <= maxFileBytes && take.size + unit.paths.length <= maxFiles
    if (unit.remade || !fits) left.push({ path, bytes: unit.bytes })
    else {
      room -= unit.bytes
      for (const each of unit.paths) take.add(each)
    }
  }
  return { paths: take, skipped: left.toSorted((a, b) => (a.path < b.path ? -1 : 1)) }
}

/** Returns the unit that a path moves with: itself, or a folder that must stay complete. */
function parseUnit(path: string): { readonly name: string; readonly again: boolean } {
  const parts = path.split('/')
  const at = parts.findIndex((part) => part === '.git' || regenerated.has(part))
  return at < 0
    ? { name: path, again: false }
    : { name: parts.slice(0, at + 1).join('/'), again: regenerated.has(parts[at] ?? '') }
}

/** Moves the files and returns those that were skipped. */
export async function moveFiles(from: PortableBackend, to: PortableBackend): Promise<readonly SkippedFile[]> {
  const { paths, skipped } = planTransfer(await from.tree())
  await to.clear()
  if (paths.size) await to.restore(movedEntries(from, to, paths))
  if (skipped.length) {
    const list = skipped.map(({ path, bytes }) => `${path}\t${bytes} bytes\n`).join('')
    await to.files.write(skippedListPath, new TextEncoder().encode(list))
  }
  return skipped
}

export const skippedListPath = '/tmp/left-behind.txt'

async function* movedEntries(
  from: PortableBackend,
  to: PortableBackend,
  take: ReadonlySet<string>,
): AsyncGenerator<SnapshotEntry> {
  const [here, there] = [from.capabilities.root, to.capabilities.root]
  const renamed = (path: string) =>
    path === here || path.startsWith(`${here}/`) ? there + path.slice(here.length) : path
  for await (const entry of from.snapshot((path) => take.has(path)))
    yield entry.kind === 'link' && entry.target.startsWith('/')
      ? { ...entry, path: renamed(entry.path), target: renamed(entry.target) }
      : { ...entry, path: renamed(entry.path) }
}
