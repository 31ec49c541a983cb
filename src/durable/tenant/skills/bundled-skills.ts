/** Provides the bundled skills as records, computed once in an isolate. */

import type { SkillFile, SkillHead } from '#agent/core/skills/skill.ts'
import { readCode } from '#backends/isolate-code.ts'
import { loadSkillModule } from '#backends/modules.ts'
import { hashFiles, type SkillRecord } from './skill-rows.ts'
import { sha256Hex } from '#durable/platform/hash.ts'

export type OfferedSkill = {
  readonly record: SkillRecord
  readonly files: readonly SkillFile[]
  readonly read: (path: string) => Promise<Uint8Array | undefined>
}

/** Their texts by name. They are stored as the code of isolates is. */
export const readBundledSkills = async (): Promise<Readonly<Record<string, string>>> =>
  JSON.parse(await readCode(import('#backends/dist/bundled-skills.isolate.txt')))

let loaded: ReadonlyMap<string, OfferedSkill> | undefined

export async function loadBundledSkills(): Promise<ReadonlyMap<string, OfferedSkill>> {
  if (loaded) return loaded
  const [{ parseSkillFile }, texts] = await Promise.all([loadSkillModule(), readBundledSkills()])
  const skills = await Promise.all(
    Object.entries(texts).map(async ([name, text]): Promise<[string, OfferedSkill]> => {
      const parsed = parseSkillFile(text)
      if (!parsed.ok) throw new Error(`The bundled skill ${name} is invalid: ${parsed.error}`)
      return [name, await toOffered(parsed.head, new TextEncoder().encode(text))]
    }),
  )
  return (loaded = new Map(skills))
}

async function toOffered(head: SkillHead, bytes: Uint8Array): Promise<OfferedSkill> {
  const path = 'SKILL.md'
  const files = [{ path, bytes: bytes.byteLength, hash: await sha256Hex(bytes) }]
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
  return { record, files, read: async (asked) => (asked === path ? bytes : undefined) }
}
