// Whether node_modules is what package-lock.json names. Node 20, nothing installed.
import { createHash } from 'node:crypto'

export const fingerprint = (lock) => createHash('sha256').update(lock).digest('hex')

/**
 * npm keeps the tree it installed in `node_modules/.package-lock.json`, and writes it last. What is optional may be
 * missing there (packages for other systems) or be there alone (the build for this system, where the lock file was made
 * with a registry that has none); everything else has to have the version of the lock file.
 */
export function matches(lock, installed) {
  if (installed === undefined) return false
  const wanted = Object.entries(JSON.parse(lock).packages ?? {}).filter(([path]) => path !== '')
  const present = JSON.parse(installed).packages ?? {}
  const known = new Map(wanted)
  return (
    wanted.every(([path, { version, optional }]) =>
      present[path] ? present[path].version === version : optional === true,
    ) && Object.entries(present).every(([path, { optional }]) => known.has(path) || optional === true)
  )
}
