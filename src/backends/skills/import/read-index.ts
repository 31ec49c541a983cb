/**
 * Reads an index of skills at a well-known address. Two formats are in use: `agent-skills` with an address and a digest
 * for each skill (Agent Skills Discovery 0.2), and `skills` with the names of its files (0.1).
 */

import { parseJson } from '#agent/core/parse-json.ts'
import * as z from 'zod'
import type { SkillContent } from '#agent/core/skills/skill.ts'
import { explainBadSkillPath, skillFile } from '#agent/skills/skill-names.ts'
import type { FetchBytes, Fetched } from '../protocol.ts'
import { listSkillFolders, requireSize, takeSkill } from './collect-files.ts'
import { ImportError } from './import-error.ts'
import { readArchive } from './read-archive.ts'
import { sha256Hex } from '#durable/platform/hash.ts'

const maxIndexBytes = 1024 * 1024
export const maxArchiveBytes = 16 * 1024 * 1024
const maxFileBytes = 256 * 1024

const entrySchema = z.object({
  name: z.string().max(64),
  description: z.string().max(10_000).optional(),
  type: z.string().max(40).optional(),
  url: z.string().max(2_000).optional(),
  digest: z
    .string()
    .regex(/^sha256:[0-9a-f]{64}$/)
    .optional(),
  files: z.array(z.string().max(200)).max(50).optional(),
})
type IndexEntry = z.infer<typeof entrySchema>

export type SkillIndex = { readonly url: string; readonly entries: readonly IndexEntry[] }

/** Undefined when there is no index at the address. */
export async function readIndex(url: string, fetch: FetchBytes): Promise<SkillIndex | undefined> {
  const found = await fetch(url, maxIndexBytes)
  if (found.status !== 200) return undefined
  const values = parseJson(found.bytes) as { readonly skills?: unknown } | undefined
  if (!Array.isArray(values?.skills)) return undefined
  const entries = values.skills.flatMap((one) => entrySchema.safeParse(one).data ?? [])
  return { url: found.url, entries }
}

export async function fetchEntry(
  { url: index }: SkillIndex,
  entry: IndexEntry,
  fetch: FetchBytes,
): Promise<readonly SkillContent[]> {
  if (entry.url === undefined) return fetchFiles(index, entry, fetch)
  const address = URL.parse(entry.url, index)?.href
  if (address === undefined) throw new ImportError(`The index has no valid address for ${entry.name}.`)
  const found = requireFound(await fetch(address, maxArchiveBytes))
  if (entry.digest !== undefined && `sha256:${await sha256Hex(found.bytes)}` !== entry.digest)
    throw new ImportError(`${entry.name} is not what its index names: the SHA-256 of ${address} differs.`)
  if (entry.type !== 'archive') {
    const files = [{ path: skillFile, bytes: found.bytes }]
    requireSize(files)
    return files
  }
  const entries = await readArchive(found.bytes)
  const [folder] = listSkillFolders(entries).toSorted((one, other) => one.length - other.length)
  if (folder === undefined) throw new ImportError(`The archive of ${entry.name} has no ${skillFile}.`)
  return takeSkill(entries, folder)
}

async function fetchFiles(index: string, { name, files = [skillFile] }: IndexEntry, fetch: FetchBytes) {
  const contents: SkillContent[] = []
  for (const path of files) {
    const bad = explainBadSkillPath(path)
    if (bad !== undefined) throw new ImportError(bad)
    const address = new URL(`${encodeURIComponent(name)}/${path.split('/').map(encodeURIComponent).join('/')}`, index)
    contents.push({ path, bytes: requireFound(await fetch(address.href, maxFileBytes)).bytes })
    requireSize(contents)
  }
  return contents
}

export function requireFound(found: Fetched): Fetched {
  if (found.status === 200) return found
  throw new ImportError(`${found.url} answered with status ${found.status}.`)
}
