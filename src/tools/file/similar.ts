/** Names close to one that was not found. */

import type { ExecutionBackend } from '../../agent/model/backend.ts'
import { similarity } from './similarity.ts'

const MOST = 5
const CLOSE = 0.6
/** Candidates looked at in a large workspace. */
const SCANNED = 5000

export async function similarFiles(backend: ExecutionBackend, path: string): Promise<string[]> {
  const query = { target: 'files' as const, pattern: '*', path: backend.capabilities.root, limit: SCANNED, offset: 0 }
  const { hits } = await backend.files.search(query)
  const name = nameOf(path)
  const scored = hits.map((hit) => ({ path: hit.path, score: score(name, nameOf(hit.path)) }))
  const close = scored.filter((one) => one.score >= CLOSE).toSorted((a, b) => b.score - a.score)
  return close.slice(0, MOST).map((one) => one.path)
}

const nameOf = (path: string): string => path.slice(path.lastIndexOf('/') + 1).toLowerCase()

function score(wanted: string, there: string): number {
  if (wanted === there) return 1
  const stem = (name: string): string => name.replace(/\.[^.]*$/, '')
  if (stem(wanted) === stem(there) || (wanted.length > 3 && there.includes(wanted))) return 0.9
  return similarity(wanted, there)
}
