/** Finds files whose names are similar to one that does not exist, or the same in another form of Unicode. */

import type { ExecutionBackend } from '#agent/core/backend.ts'
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
  const similar = scored.filter((one) => one.score >= minScore).toSorted((a, b) => b.score - a.score)
  return similar.slice(0, maxResults).map((one) => one.path)
}

/** Some systems store names with their letters decomposed. Models write them composed. */
export async function findExistingForm(backend: ExecutionBackend, path: string): Promise<string> {
  const forms = [...new Set([path, path.normalize('NFC'), path.normalize('NFD')])]
  if (forms.length === 1) return path
  for (const form of forms) if (await backend.files.stat(form)) return form
  return path
}

const fileNameOf = (path: string): string => path.slice(path.lastIndexOf('/') + 1).toLowerCase()

function scoreName(requestedName: string, existingName: string): number {
  if (requestedName === existingName) return 1
  const stem = (name: string): string => name.replace(/\.[^.]*$/, '')
  if (stem(requestedName) === stem(existingName) || (requestedName.length > 3 && existingName.includes(requestedName)))
    return 0.9
  return similarity(requestedName, existingName)
}
