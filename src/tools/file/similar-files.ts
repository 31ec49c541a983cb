/** Finds files whose names are similar to one that does not exist. */

import type { ExecutionBackend } from '../../agent/model/backend.ts'
import { similarity } from './similarity.ts'

const maxResults = 5
const minScore = 0.6
const maxScannedFiles = 5000

export async function findSimilarFiles(backend: ExecutionBackend, path: string): Promise<string[]> {
  const query = {
    target: 'files' as const,
    pattern: '*',
    path: backend.capabilities.root,
    limit: maxScannedFiles,
    offset: 0,
  }
  const { hits } = await backend.files.search(query)
  const name = fileNameOf(path)
  const scored = hits.map((hit) => ({ path: hit.path, score: scoreName(name, fileNameOf(hit.path)) }))
  const close = scored.filter((one) => one.score >= minScore).toSorted((a, b) => b.score - a.score)
  return close.slice(0, maxResults).map((one) => one.path)
}

const fileNameOf = (path: string): string => path.slice(path.lastIndexOf('/') + 1).toLowerCase()

function scoreName(wanted: string, there: string): number {
  if (wanted === there) return 1
  const stem = (name: string): string => name.replace(/\.[^.]*$/, '')
  if (stem(wanted) === stem(there) || (wanted.length > 3 && there.includes(wanted))) return 0.9
  return similarity(wanted, there)
}
