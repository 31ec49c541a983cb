/** Reads the skills of a Hermes Agent: folders with a SKILL.md, at any depth below `skills/`. */

import { readdir, readFile, stat } from 'node:fs/promises'
import { basename, join, relative, sep } from 'node:path'

const maxFiles = 50
const maxFileBytes = 256 * 1024
const maxDepth = 6
const skillFile = 'SKILL.md'

/** Yields `{name, content, files}`. Skills that Hermes brought along are listed in a manifest, and left out by default. */
export async function* readSkills(folder, { withBundled = false } = {}) {
  const bundled = withBundled ? new Set() : await readManifest(folder)
  for await (const path of findSkills(folder, 0)) {
    const content = await readFile(join(path, skillFile), 'utf8')
    const name = readName(content) ?? basename(path)
    if (bundled.has(name) || bundled.has(basename(path))) continue
    yield { name, content, files: await readFiles(path) }
  }
}

/** Lines of `name:hash`. */
async function readManifest(folder) {
  const text = await readFile(join(folder, '.bundled_manifest'), 'utf8').catch(() => '')
  return new Set(
    text
      .split('\n')
      .map((line) => line.split(':')[0].trim())
      .filter(Boolean),
  )
}

const listFolder = async (folder) =>
  readdir(folder, { withFileTypes: true }).catch((error) => {
    if (error.code === 'ENOENT') return []
    throw error
  })

/** Links are not followed: they may leave the folder. Hidden folders hold backups and the hub's state. */
async function* findSkills(folder, depth) {
  const entries = await listFolder(folder)
  if (entries.some((entry) => entry.isFile() && entry.name === skillFile)) {
    yield folder
    return
  }
  if (depth >= maxDepth) return
  for (const entry of entries.toSorted((a, b) => (a.name < b.name ? -1 : 1)))
    if (entry.isDirectory() && !entry.name.startsWith('.')) yield* findSkills(join(folder, entry.name), depth + 1)
}

const readName = (content) => /^---\r?\n(?:.*\r?\n){0,200}?name:[ \t]*["']?([^\s"'#]+)/.exec(content)?.[1]

async function readFiles(folder) {
  const files = []
  const entries = await readdir(folder, { recursive: true, withFileTypes: true })
  for (const entry of entries) {
    const path = join(entry.parentPath, entry.name)
    const name = relative(folder, path).split(sep).join('/')
    if (!entry.isFile() || name === skillFile || name.split('/').some((one) => one.startsWith('.'))) continue
    if (files.length >= maxFiles || (await stat(path)).size > maxFileBytes) continue
    files.push({ path: name, bytes: new Uint8Array(await readFile(path)) })
  }
  return files.toSorted((a, b) => (a.path < b.path ? -1 : 1))
}
