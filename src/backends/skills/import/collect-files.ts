/** Finds the skills among the files of an archive or repository, and takes the files of one. */

import type { SkillContent } from '#agent/core/skills/skill.ts'
import { explainBadSkillPath, skillFile } from '#agent/skills/skill-names.ts'
import { ImportError } from './import-error.ts'

const maxFiles = 50
const maxTotalBytes = 1024 * 1024
const maxFileBytes = 256 * 1024

/** `bytes` is undefined for a link, whose target is not read. */
export type ArchiveEntry = { readonly path: string; readonly bytes: Uint8Array | undefined }

/** The folders that have a SKILL.md. The empty text is the top. */
export const listSkillFolders = (entries: readonly ArchiveEntry[]): readonly string[] =>
  entries.flatMap(({ path }) =>
    path === skillFile ? [''] : path.endsWith(`/${skillFile}`) ? [path.slice(0, -skillFile.length - 1)] : [],
  )

/** The files of the skill in a folder, with paths below it. Files of skills further below are left out. */
export function takeSkill(entries: readonly ArchiveEntry[], folder: string): readonly SkillContent[] {
  const prefix = folder === '' ? '' : `${folder}/`
  const nested = listSkillFolders(entries).filter((other) => other !== folder && other.startsWith(prefix))
  const files: SkillContent[] = []
  for (const { path, bytes } of entries) {
    if (!path.startsWith(prefix) || nested.some((other) => path.startsWith(`${other}/`))) continue
    const inner = path.slice(prefix.length)
    // A repository has files for itself, such as .gitignore. They are not part of the skill.
    if (inner.split('/').some((part) => part.startsWith('.') && part !== '..' && part !== '.')) continue
    if (!bytes) throw new ImportError(`${path} is a link. A skill may only have files of its own.`)
    const bad = explainBadSkillPath(inner)
    if (bad !== undefined) throw new ImportError(bad)
    files.push({ path: inner, bytes })
  }
  requireSize(files)
  return files
}

export function requireSize(files: readonly SkillContent[]): void {
  if (files.length > maxFiles)
    throw new ImportError(`The skill has ${files.length} files; at most ${maxFiles} are imported.`)
  let total = 0
  for (const { path, bytes } of files) {
    if (bytes.byteLength > maxFileBytes)
      throw new ImportError(`${path} has ${bytes.byteLength} bytes; a file has at most ${maxFileBytes / 1024} KiB.`)
    total += bytes.byteLength
  }
  if (total > maxTotalBytes) throw new ImportError(`The skill has ${total} bytes; at most 1 MiB is imported.`)
}
