// Checks that node_modules matches package-lock.json. Must run on Node 20 with nothing installed.
import { createHash } from 'node:crypto'

export const fingerprint = (lock) => createHash('sha256').update(lock).digest('hex')

/**
 * Compares the lock file with `node_modules/.package-lock.json`, which npm writes last. Optional packages may be missing
 * there (builds for other systems) or be additional (the build for this system). All others must have the locked version.
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
