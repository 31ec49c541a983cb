/** Provides the bundled skills as records, computed once in an isolate. */

import type { SkillFile, SkillHead } from '#agent/core/skills/skill.ts'
import { loadSkillModule } from '#backends/modules.ts'
import { hashFiles, type SkillRecord } from './skill-rows.ts'
import { sha256Hex } from '#durable/platform/hash.ts'

export type OfferedSkill = {
  readonly record: SkillRecord
  readonly files: readonly SkillFile[]
  readonly read: (path: string) => Promise<Uint8Array | undefined>
}

let loaded: ReadonlyMap<string, OfferedSkill> | undefined

export async function loadBundledSkills(): Promise<ReadonlyMap<string, OfferedSkill>> {
  if (loaded) return loaded
  const { bundledSkills, parseSkillFile } = await loadSkillModule()
  const skills = await Promise.all(
    bundledSkills.map(async ({ name, files }): Promise<[string, OfferedSkill]> => {
      const parsed = parseSkillFile(files['SKILL.md'] ?? '')
      if (!parsed.ok) throw new Error(`The bundled skill ${name} is invalid: ${parsed.error}`)
      return [name, await toOffered(parsed.head, files)]
    }),
  )
  return (loaded = new Map(skills))
}

async function toOffered(head: SkillHead, texts: Readonly<Record<string, string>>): Promise<OfferedSkill> {
  const contents = new Map(Object.entries(texts).map(([path, text]) => [path, new TextEncoder().encode(text)]))
  const described = [...contents].map(async ([path, bytes]) => ({
    path,
    bytes: bytes.byteLength,
    hash: await sha256Hex(bytes),
  }))
  const files = await Promise.all(described)
  const record: SkillRecord = {
    name: head.name,
    source: 'bundled',
    head,
    verdict: 'safe',
    isPinned: false,
    archivedAt: undefined,
    hash: await hashFiles(files),
    createdAt: 0,
    updatedAt: 0,
    usedAt: undefined,
    origin: undefined,
  }
  return { record, files, read: async (path) => contents.get(path) }
}
