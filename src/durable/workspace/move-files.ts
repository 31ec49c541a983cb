/**
 * A session's files go from one machine to another. Nothing is removed where they come from, and the place they go
 * to is emptied first: a hand-over that was interrupted is simply done again.
 */

import type { FileStat } from '../../agent/model/backend.ts'
import type { PortableBackend, SnapshotEntry } from '../../backends/portable-backend.ts'

/** Of file contents in one hand-over. */
const maxBytes = 50 * 1024 * 1024
/** Of one file: it is held in memory while it is under way. */
const maxFile = 30 * 1024 * 1024
const maxFiles = 20_000

/** Made again by the tool that made them, and often not of use on another machine. */
const regenerated = new Set(['node_modules', '.venv', '__pycache__'])

export type SkippedFile = { readonly path: string; readonly bytes: number }
export type TransferPlan = { readonly paths: ReadonlySet<string>; readonly skipped: readonly SkippedFile[] }

/**
 * What goes along: the smallest first, as long as there is room. A `.git` goes as a whole or not at all, because half
 * a repository is a broken one.
 */
export function planTransfer(tree: readonly FileStat[], limit = maxBytes): TransferPlan {
  const units = new Map<
    string,
    { bytes: number; largest: number; readonly paths: string[]; readonly remade: boolean }
  >()
  for (const { path, type, size } of tree) {
    const { name, again } = unitOf(path)
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
    const fits = unit.bytes <= room && unit.largest <= maxFile && take.size + unit.paths.length <= maxFiles
    if (unit.remade || !fits) left.push({ path, bytes: unit.bytes })
    else {
      room -= unit.bytes
      for (const each of unit.paths) take.add(each)
    }
  }
  return { paths: take, skipped: left.toSorted((a, b) => (a.path < b.path ? -1 : 1)) }
}

/** A file is a unit of its own, unless it is in a folder that stays together. */
function unitOf(path: string): { readonly name: string; readonly again: boolean } {
  const parts = path.split('/')
  const at = parts.findIndex((part) => part === '.git' || regenerated.has(part))
  return at < 0
    ? { name: path, again: false }
    : { name: parts.slice(0, at + 1).join('/'), again: regenerated.has(parts[at] ?? '') }
}

/** Brings the files over and says what was left behind. */
export async function moveFiles(from: PortableBackend, to: PortableBackend): Promise<readonly SkippedFile[]> {
  const { paths: take, skipped: left } = planTransfer(await from.tree())
  await to.clear()
  if (take.size) await to.restore(moved(from, to, take))
  if (left.length) {
    const list = left.map(({ path, bytes }) => `${path}\t${bytes} bytes\n`).join('')
    await to.files.write(skippedListPath, new TextEncoder().encode(list))
  }
  return left
}

export const skippedListPath = '/tmp/left-behind.txt'

async function* moved(from: PortableBackend, to: PortableBackend, take: ReadonlySet<string>): AsyncGenerator<SnapshotEntry> {
  const [here, there] = [from.capabilities.root, to.capabilities.root]
  const renamed = (path: string) =>
    path === here || path.startsWith(`${here}/`) ? there + path.slice(here.length) : path
  for await (const entry of from.snapshot((path) => take.has(path)))
    yield entry.kind === 'link' && entry.target.startsWith('/')
      ? { ...entry, path: renamed(entry.path), target: renamed(entry.target) }
      : { ...entry, path: renamed(entry.path) }
}
