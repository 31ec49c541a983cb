// Files of a workspace for those outside of it. A file that is written appears complete, by renaming; pipes, sockets
// and devices are never opened for reading, since that could wait for ever.

import { randomBytes } from 'node:crypto'
import { constants } from 'node:fs'
import { open, readdir, rename, rm } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { Readable } from 'node:stream'
import { inFolder, removeAll, walk } from './descent.mjs'
import { statAt, within } from './paths.mjs'
import { Refusal } from './refusal.mjs'

const listMax = 10_000
const treeMax = 100_000
const safely = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK

export function openFiles({ workspaces, limits }) {
  /** Bytes from `start` on, and how many there are in all. The handle is the caller's. */
  async function openRead(name, path) {
    const workspace = await workspaces.open(name)
    return within(workspace, path, {}, async ({ real, path: named, isRoot }) => {
      if (isRoot) throw new Refusal('invalid', `This is a directory: ${named}`)
      const handle = await open(real, safely)
      const stats = await handle.stat()
      if (stats.isFile()) return { handle, size: stats.size, modified: stats.mtimeMs }
      await handle.close()
      throw new Refusal('invalid', `This is ${stats.isDirectory() ? 'a directory' : 'not a regular file'}: ${named}`)
    })
  }

  async function write(name, path, { body, length }) {
    const workspace = await workspaces.open(name)
    if (length > limits.FILE_BYTES) throw tooLarge(limits)
    await workspaces.requireSpace(workspace, length ?? 0)
    return within(workspace, path, { make: true }, async ({ real, path: named, isRoot }) => {
      const before = isRoot ? { type: 'directory' } : await statAt(real, named)
      if (before?.type === 'directory') throw new Refusal('invalid', `This is a directory: ${named}`)
      const draft = join(dirname(real), `.${randomBytes(9).toString('hex')}.part`)
      try {
        await fill(draft, body, await modeOf(real))
        await rename(draft, real)
      } catch (error) {
        await rm(draft, { force: true })
        throw error
      }
      workspaces.changed(workspace)
      return { created: before === undefined }
    })
  }

  /** What is there already keeps its permissions: a script stays a script. */
  async function modeOf(real) {
    const handle = await open(real, safely).catch(() => undefined)
    if (!handle) return 0o644
    const { mode } = await handle.stat().finally(() => handle.close())
    return mode & 0o777
  }

  async function fill(path, body, mode) {
    const handle = await open(path, constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL, mode)
    try {
      let bytes = 0
      for await (const chunk of body) {
        bytes += chunk.length
        if (bytes > limits.FILE_BYTES) throw tooLarge(limits)
        await handle.writeFile(chunk)
      }
      await handle.chmod(mode)
    } finally {
      await handle.close()
    }
  }

  async function stat(name, path) {
    const workspace = await workspaces.open(name)
    try {
      return await within(workspace, path, { follow: false }, ({ real, path: named, isRoot }) =>
        isRoot ? statAt(`${real}/`, named) : statAt(real, named),
      )
    } catch (error) {
      if (error.code === 'missing' || (error.code === 'invalid' && /not a directory/.test(error.message)))
        return undefined
      throw error
    }
  }

  async function list(name, path) {
    const workspace = await workspaces.open(name)
    return within(workspace, path, {}, ({ real, path: named, isRoot }) =>
      inFolder(isRoot ? `${real}/` : real, async (held) => {
        const names = (await readdir(held)).toSorted((a, b) => (a < b ? -1 : 1))
        const found = await Promise.all(
          names.slice(0, listMax).map((child) => statAt(join(held, child), `${named}/${child}`)),
        )
        return { entries: found.filter(Boolean), truncated: names.length > listMax }
      }),
    )
  }

  async function remove(name, path) {
    const workspace = await workspaces.open(name)
    try {
      return await within(workspace, path, { follow: false }, async ({ real, path: named, isRoot }) => {
        if (isRoot) throw new Refusal('invalid', `This cannot be removed: ${named}`)
        if (!(await statAt(real, named))) return { removed: false }
        await removeAll(dirname(real), basename(real), named)
        workspaces.changed(workspace)
        return { removed: true }
      })
    } catch (error) {
      if (error.code === 'missing') return { removed: false }
      throw error
    }
  }

  async function move(name, { from, to }) {
    const workspace = await workspaces.open(name)
    const no = { follow: false }
    return within(workspace, from, no, (source) =>
      within(workspace, to, { ...no, make: true }, async (target) => {
        if (source.isRoot || target.isRoot) throw new Refusal('invalid', 'The workspace itself cannot be moved.')
        const there = await statAt(target.real, target.path)
        if (there?.type === 'directory') throw new Refusal('invalid', `This is a directory: ${target.path}`)
        await rename(source.real, target.real)
        return {}
      }),
    )
  }

  /** Everything below /workspace and /tmp, folders before what is in them. */
  async function tree(name) {
    const workspace = await workspaces.open(name)
    const entries = []
    for (const [inside, real] of [
      ['/workspace', workspace.home],
      ['/tmp', workspace.tmp],
    ])
      await walk(real, inside, async (entry) => entries.push(entry) < treeMax)
    return { entries, truncated: entries.length >= treeMax }
  }

  /** The whole workspace without anything in it. */
  async function clear(name) {
    const workspace = await workspaces.open(name)
    for (const folder of [workspace.home, workspace.tmp])
      for (const child of await readdir(folder)) await removeAll(folder, child, child)
    workspaces.changed(workspace)
  }

  return { openRead, write, stat, list, remove, move, tree, clear }
}

const tooLarge = ({ FILE_BYTES }) => new Refusal('too_large', `A file may have ${FILE_BYTES} bytes.`, 'Split it.')

/** A range as HTTP asks for it: `bytes=from-to`, `bytes=from-`, `bytes=-last`. */
export function rangeOf(header, size) {
  const match = /^bytes=(\d*)-(\d*)$/.exec(header ?? '')
  if (!match || (match[1] === '' && match[2] === '')) return undefined
  const start = match[1] === '' ? Math.max(0, size - Number(match[2])) : Number(match[1])
  const end = match[1] === '' || match[2] === '' ? size - 1 : Math.min(size - 1, Number(match[2]))
  return start > end || start >= size ? 'none' : { start, end }
}

export const streamOf = ({ handle, size }, range) =>
  size === 0
    ? (void handle.close(), Readable.from([]))
    : handle.createReadStream(range ? { ...range } : { start: 0, end: size - 1 })
