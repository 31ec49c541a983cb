/** Copies a checkout, because `wrangler dev` restarts the server when a file changes during a measurement. */

import { cpSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs'
import { basename, join } from 'node:path'

const left = new Set(['node_modules', '.git', '.wrangler', 'coverage', 'dist'])

export const frozen = (from: string): string => {
  const copy = mkdtempSync('/dev/shm/talaria-bench-copy-')
  cpSync(from, copy, { recursive: true, filter: (path) => !left.has(basename(path)) })
  symlinkSync(join(from, 'node_modules'), join(copy, 'node_modules'))
  process.on('exit', () => rmSync(copy, { recursive: true, force: true }))
  return copy
}
