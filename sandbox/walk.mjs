// Walks the folders of a workspace while commands may change them. Each folder is opened relative to its open parent
// without following links, so that a folder that was replaced by a link is skipped.

import { execFile } from 'node:child_process'
import { closeSync, constants, openSync, readdirSync } from 'node:fs'
import { open, readdir } from 'node:fs/promises'
import { statAt } from './paths.mjs'
import { ProtocolError } from './protocol-error.mjs'

const asFolder = constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW
/** Each level holds a descriptor, which deep nesting must not exhaust. */
const maxDepth = 256
const skipped = new Set(['.git', 'node_modules'])
const removalMs = 600_000

const descriptorPath = (descriptor) => `/proc/self/fd/${descriptor}`
const byName = (a, b) => (a.name < b.name ? -1 : 1)

/** Opens a folder and passes a path that refers to this very folder while `work` lasts. */
export async function withFolder(real, work) {
  const handle = await open(real, asFolder)
  try {
    return await work(descriptorPath(handle.fd))
  } finally {
    await handle.close()
  }
}

/**
 * Visits all entries, including links, which are not followed. `visit` returns false to stop. Folders of which `isShallow` is
 * true are not entered, and `onLocked` is called for those that cannot be.
 */
export async function walk(real, inside, visitor, depth = 0) {
  try {
    if (depth <= maxDepth) return await withFolder(real, (openPath) => walkOpen(openPath, inside, visitor, depth))
    visitor.onLocked()
    return true
  } catch (error) {
    if (error.code === 'EACCES') visitor.onLocked()
    else if (!['ENOENT', 'ENOTDIR', 'ELOOP'].includes(error.code)) throw error
    return true
  }
}

async function walkOpen(openPath, inside, visitor, depth) {
  const names = await readdir(openPath)
  for (const name of names.toSorted()) {
    const [real, path] = [`${openPath}/${name}`, `${inside}/${name}`]
    const entry = (await statAt(real, path)) ?? unnamed(path)
    if (!entry) continue
    if (!(await visitor.visit(entry))) return false
    if (entry.type !== 'directory' || visitor.isShallow(name)) continue
    if (!(await walk(real, path, visitor, depth + 1))) return false
  }
  return true
}

/** An entry whose name is not UTF-8 cannot be opened by its name as text. Other entries were removed meanwhile. */
const unnamed = (path) => (path.includes('\uFFFD') ? { path, type: 'file', size: 0, modified: 0 } : undefined)

/**
 * Yields the file itself, or all files below a folder. `below` is the path relative to the start. `real` is valid until
 * the next iteration.
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
    const openPath = descriptorPath(descriptor)
    for (const child of readdirSync(openPath, { withFileTypes: true }).toSorted(byName)) {
      const at = {
        real: `${openPath}/${child.name}`,
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

/** Removes an entry and everything below it. GNU `rm` descends as safely as this file, at any depth. */
export function removeAll(folder, name, named) {
  return new Promise((resolve, reject) => {
    const options = { cwd: folder, timeout: removalMs, env: { PATH: process.env.PATH } }
    execFile('rm', ['-rf', '--', name], options, (error) => {
      if (error) reject(new ProtocolError('invalid', `This could not be removed completely: ${named}`))
      else resolve()
    })
  })
}
