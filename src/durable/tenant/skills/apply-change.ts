/** Computes the files of a skill after a change that the model asked for. */

import type { SkillChange, SkillContent } from '#agent/core/skills/skill.ts'
import { splitFrontMatter } from '#agent/skills/split-front-matter.ts'
import { explainBadSkillPath, explainUnwritablePath, skillFile } from '#agent/skills/skill-names.ts'
import { replaceText } from '#tools/file/patch/replace-text.ts'

export type AppliedChange =
  | { readonly ok: true; readonly files: readonly SkillContent[] }
  | { readonly ok: false; readonly error: string }

const refused = (error: string): AppliedChange => ({ ok: false, error })

/** Changes of the whole skill, which `delete` is not. */
export type SkillFileChange = Exclude<SkillChange, { readonly action: 'delete' }>

export function applyChange(files: readonly SkillContent[], change: SkillFileChange): AppliedChange {
  switch (change.action) {
    case 'create':
      return replaceFile([], skillFile, withCategory(change.content, change.category))
    case 'edit':
      return replaceFile(files, skillFile, change.content)
    case 'patch':
      return patchFile(files, change)
    case 'write_file': {
      const bad = explainUnwritablePath(change.path)
      return bad === undefined ? replaceFile(files, change.path, change.content) : refused(bad)
    }
    case 'remove_file':
      return removeFile(files, change.path)
  }
}

function replaceFile(files: readonly SkillContent[], path: string, text: string): AppliedChange {
  const file = { path, bytes: new TextEncoder().encode(text) }
  return { ok: true, files: [...files.filter((one) => one.path !== path), file] }
}

type Patch = Extract<SkillChange, { readonly action: 'patch' }>

function patchFile(files: readonly SkillContent[], { path, from, to, all }: Patch): AppliedChange {
  const bad = explainBadSkillPath(path)
  if (bad !== undefined) return refused(bad)
  const file = files.find((one) => one.path === path)
  if (!file) return refused(`There is no ${path}. ${listFiles(files)}`)
  const result = replaceText(new TextDecoder().decode(file.bytes), { from, to, all })
  if (!('error' in result)) return replaceFile(files, path, result.text)
  const { error, locations = [] } = result
  return refused([error, ...locations].join('\n'))
}

function removeFile(files: readonly SkillContent[], path: string): AppliedChange {
  if (path === skillFile) return refused(`${skillFile} is the skill itself. Use the action delete for the whole skill.`)
  const kept = files.filter((one) => one.path !== path)
  return kept.length < files.length ? { ok: true, files: kept } : refused(`There is no ${path}. ${listFiles(files)}`)
}

const listFiles = (files: readonly SkillContent[]): string => `Files: ${files.map(({ path }) => path).join(', ')}.`

/** Adds the category to the front matter, unless it has one. */
function withCategory(content: string, category: string | undefined): string {
  const parts = category === undefined ? undefined : splitFrontMatter(content)
  if (category === undefined || !parts || /^[ \t]*category:/m.test(parts.head)) return content
  return `---\n${parts.head}category: ${JSON.stringify(category)}\n---\n${parts.body}`
}
