// Down a folder of a workspace while commands change it. Each folder is opened below the one that is held, links
// excluded: what was a folder when it was listed and is a link now is left out, and never followed.

import { execFile } from 'node:child_process'
import { closeSync, constants, openSync, readdirSync } from 'node:fs'
import { open, readdir } from 'node:fs/promises'
import { statAt } from './paths.mjs'
import { Refusal } from './refusal.mjs'

const asFolder = constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW
/** Each holds a descriptor; who nests deeper does not take those of everybody else. */
const maxDepth = 256
const skipped = new Set(['.git', 'node_modules'])
const removalMs = 600_000

const heldAt = (descriptor) => `/proc/self/fd/${descriptor}`
const byName = (a, b) => (a.name < b.name ? -1 : 1)

/** What is in a folder, and a path to it that stays the same folder while `work` lasts. */
export async function inFolder(real, work) {
  const handle = await open(real, asFolder)
  try {
    return await work(heldAt(handle.fd))
  } finally {
    await handle.close()
  }
}

/** `visit` answers false to end it. Links are told of and not followed. */
export async function walk(real, inside, visit, depth = 0) {
  if (depth > maxDepth) return true
  try {
    return await inFolder(real, (held) => walkHeld(held, inside, visit, depth))
  } catch (error) {
    if (['ENOENT', 'ENOTDIR', 'ELOOP', 'EACCES'].includes(error.code)) return true
    throw error
  }
}

async function walkHeld(held, inside, visit, depth) {
  const names = await readdir(held)
  for (const name of names.toSorted()) {
    const [real, path] = [`${held}/${name}`, `${inside}/${name}`]
    const entry = await statAt(real, path)
    if (!entry) continue
    if (!(await visit(entry))) return false
    if (entry.type === 'directory' && !(await walk(real, path, visit, depth + 1))) return false
  }
  return true
}

/**
 * The file itself, or what is below a folder: `below` is the path from where the search began. `real` is good until
 * the next one is asked for.
 */
export function* filesBelow({ real, path, below = '' }, depth = 0) {
  if (depth > maxDepth) return
  let descriptor
  try {
    descriptor = openSync(real, asFolder)
  } catch (error) {
    if (error.code === 'ENOTDIR' && depth === 0) yield { real, path, below: path.slice(path.lastIndexOf('/') + 1) }
    return
  }
  try {
    const held = heldAt(descriptor)
    for (const child of readdirSync(held, { withFileTypes: true }).toSorted(byName)) {
      const at = {
        real: `${held}/${child.name}`,
        path: `${path}/${child.name}`,
        below: below === '' ? child.name : `${below}/${child.name}`,
      }
      if (child.isFile()) yield at
      else if (child.isDirectory() && !skipped.has(child.name)) yield* filesBelow(at, depth + 1)
    }
  } finally {
    closeSync(descriptor)
  }
}

/** Whatever is there, with all below it. `rm` of GNU goes down the way this file does, however deep it is. */
export function removeAll(folder, name, named) {
  return new Promise((resolve, reject) => {
    const how = { cwd: folder, timeout: removalMs, env: { PATH: process.env.PATH } }
    execFile('rm', ['-rf', '--', name], how, (error) => {
      if (error) reject(new Refusal('invalid', `This could not be removed as a whole: ${named}`))
      else resolve()
    })
  })
}
