/** Checks all files of a skill before they are stored: the format, the sizes, and the security scan. */

import type { SkillContent, SkillFinding, SkillHead, SkillSource, SkillVerdict } from '#agent/core/skills/skill.ts'
import { explainBadSkillPath, skillFile } from '#agent/skills/skill-names.ts'
import { findSuspicious, getVerdict } from '#agent/skills/skill-verdict.ts'
import { loadSkillModule } from '#backends/modules.ts'

const maxFiles = 100
const maxFileBytes = 1024 * 1024
const maxTotalBytes = 4 * 1024 * 1024

export type CheckedSkill = {
  readonly ok: true
  readonly head: SkillHead
  readonly verdict: SkillVerdict
  readonly findings: readonly SkillFinding[]
}

type SkillCheck = CheckedSkill | { readonly ok: false; readonly error: string }

const wrong = (error: string): SkillCheck => ({ ok: false, error })

/** `name`: the name that the skill must have. */
export async function checkSkill(
  files: readonly SkillContent[],
  source: SkillSource,
  name: string | undefined,
): Promise<SkillCheck> {
  const badFile = explainBadFiles(files)
  if (badFile !== undefined) return wrong(badFile)
  const main = files.find(({ path }) => path === skillFile)
  const content = main && decodeText(main.bytes)
  if (content === undefined) return wrong(`The skill has no ${skillFile} that is text.`)
  const { parseSkillFile } = await loadSkillModule()
  const parsed = parseSkillFile(content)
  if (!parsed.ok) return wrong(parsed.error)
  if (name !== undefined && parsed.head.name !== name)
    return wrong(`The front matter names the skill ${parsed.head.name}, but it is stored as ${name}. Use one name.`)
  const texts = files.flatMap(({ path, bytes }) => {
    const text = decodeText(bytes)
    return text === undefined ? [] : [{ path, text }]
  })
  const findings = findSuspicious(texts, source)
  return { ok: true, head: parsed.head, verdict: getVerdict(findings), findings }
}

function explainBadFiles(files: readonly SkillContent[]): string | undefined {
  if (files.length > maxFiles) return `A skill has at most ${maxFiles} files.`
  let total = 0
  for (const { path, bytes } of files) {
    const bad = explainBadSkillPath(path)
    if (bad !== undefined) return bad
    if (bytes.byteLength > maxFileBytes)
      return `${path} has ${bytes.byteLength} bytes; a file of a skill has at most 1 MiB.`
    total += bytes.byteLength
  }
  if (total > maxTotalBytes) return `The files of a skill have at most ${maxTotalBytes / 1024 / 1024} MiB together.`
  const folded = new Set(files.map(({ path }) => path.toLowerCase()))
  return folded.size < files.length ? 'Two files of the skill differ only in capital letters.' : undefined
}

/** Undefined for bytes that are not UTF-8. */
export function decodeText(bytes: Uint8Array): string | undefined {
  try {
    const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
    return text.includes('\0') ? undefined : text
  } catch {
    // The only error of a decoder is invalid input.
    return undefined
  }
}
