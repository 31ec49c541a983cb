/** Reads the rules of a project in `.cursor/rules`: those for every task, and those for files by their globs. */

import type { Files } from '#agent/core/backend.ts'
import { splitFrontMatter } from '#agent/skills/split-front-matter.ts'
import { glob } from '#backends/virtual/glob.ts'
import { type ContextFile, type readFolder, readText } from './context-files.ts'

type CursorRule = ContextFile & {
  /** Absolute. */
  readonly path: string
  readonly isStanding: boolean
  readonly globs: readonly string[]
}

const maxRules = 50
const maxGlobs = 20

/** The rules that are part of the prompt. */
export const readStandingRules = async (files: Files, root: string, folder: RuleFolder): Promise<CursorRule[]> =>
  (await readRules(files, root, folder)).filter(({ isStanding }) => isStanding)

/** The rules for these files, in the order of their names. */
export async function readRulesFor(
  paths: readonly string[],
  { files, root, folder }: { readonly files: Files; readonly root: string; readonly folder: RuleFolder },
): Promise<readonly CursorRule[]> {
  const relative = paths.filter((path) => path.startsWith(`${root}/`)).map((path) => path.slice(root.length + 1))
  if (!relative.length) return []
  const rules = await readRules(files, root, folder)
  return rules.filter(({ isStanding, globs }) => !isStanding && globs.some((each) => relative.some(matcher(each))))
}

type RuleFolder = Awaited<ReturnType<typeof readFolder>>

async function readRules(files: Files, root: string, { path: folder, names }: RuleFolder): Promise<CursorRule[]> {
  const paths = [...names]
    .filter((name) => name.endsWith('.mdc'))
    .toSorted()
    .slice(0, maxRules)
    .map((name) => `${folder}/${name}`)
  const rules = await Promise.all(paths.map(async (path) => parseRule(path, root, await readText(files, path))))
  return rules.filter((rule) => rule !== undefined)
}

function parseRule(path: string, root: string, content: string | undefined): CursorRule | undefined {
  const { head, body } = splitFrontMatter(content ?? '') ?? { head: '', body: content ?? '' }
  const text = body.trim()
  if (!text) return undefined
  return {
    path,
    name: path.slice(root.length + 1),
    text,
    isStanding: /^alwaysApply:[ \t]*true[ \t]*$/m.test(head),
    globs: parseGlobs(head),
  }
}

/** One line with commas, as its editor writes it, or a list of YAML. Commas in braces belong to a pattern. */
function parseGlobs(head: string): readonly string[] {
  const [, line = '', list = ''] = /^globs:[ \t]*(.*)((?:\n[ \t]*- .*)*)/m.exec(head) ?? []
  const listed = list.split('\n').map((item) => item.replace(/^[ \t]*- /, ''))
  const given = line.replace(/^\[(.*)\]$/, '$1').split(/,(?![^{]*\})/)
  return [...given, ...listed]
    .map((each) => each.trim().replace(/^(["'])(.*)\1$/, '$2'))
    .filter(Boolean)
    .slice(0, maxGlobs)
}

/** A pattern that cannot be read matches nothing. */
function matcher(pattern: string): (path: string) => boolean {
  try {
    return glob(pattern)
  } catch {
    return () => false
  }
}
