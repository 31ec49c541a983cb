// Implements the files API of a workspace. A written file appears complete, by renaming. Pipes, sockets and devices are
// not read, because that could block forever.

import { randomBytes } from 'node:crypto'
import { constants } from 'node:fs'
import { copyFile, lstat, open, readdir, rename, rm } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { Readable } from 'node:stream'
import { quote } from './own-commands.mjs'
import { withFolder, removeAll, walk } from './walk.mjs'
import { rootsOf, statAt, withRealPath } from './paths.mjs'
import { ProtocolError } from './protocol-error.mjs'

const maxListed = 10_000
const maxTreeEntries = 100_000
const namePattern = /^[\w.@+-]{1,100}$/
const safeFlags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK

export function openFiles({ workspaces, own, limits }) {
  /** Opens a regular file. The caller must close the handle. */
  async function openRead(name, path) {
    const workspace = await workspaces.open(name)
    return withRealPath(workspace, path, {}, async ({ real, path: named, isRoot }) => {
      if (isRoot) throw new ProtocolError('invalid', `This is a directory: ${named}`)
      const handle = await open(real, safeFlags)
      const stats = await handle.stat()
      if (stats.isFile()) return { handle, size: stats.size, modified: stats.mtimeMs }
      await handle.close()
      throw new ProtocolError(
        'invalid',
        `This is ${stats.isDirectory() ? 'a directory' : 'not a regular file'}: ${named}`,
      )
    })
  }

  async function write(name, path, { body, length }) {
    const workspace = await workspaces.open(name)
    if (length > limits.FILE_BYTES) throw tooLarge(limits)
    await workspaces.requireSpace(workspace, length ?? 0)
    return withRealPath(workspace, path, { make: true }, async ({ real, path: named, isRoot }) => {
      const before = isRoot ? { type: 'directory' } : await statAt(real, named)
      if (before?.type === 'directory') throw new ProtocolError('invalid', `This is a directory: ${named}`)
      const draft = join(dirname(real), `.${randomBytes(9).toString('hex')}.part`)
      try {
        await fill(draft, body, await modeOf(real, named))
        if (await hasOtherNames(real)) await overwrite(draft, real)
        else await rename(draft, real)
      } catch (error) {
        await rm(draft, { force: true })
        throw error
      }
      workspaces.changed(workspace)
      return { created: before === undefined }
    })
  }

  /** An existing file keeps its permissions, also when nobody may read it. */
  async function modeOf(real, named) {
    const stats = await lstat(real).catch(() => undefined)
    if (stats && !stats.isFile()) throw new ProtocolError('invalid', `This is not a regular file: ${named}`)
    return stats ? stats.mode & 0o7777 : 0o644
  }

  const hasOtherNames = async (real) => ((await lstat(real).catch(() => undefined))?.nlink ?? 1) > 1

  /** All names of a file (hard links) get the new content. */
  async function overwrite(draft, real) {
    await copyFile(draft, real)
    await rm(draft)
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
      return await withRealPath(workspace, path, { follow: false }, ({ real, path: named, isRoot }) =>
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
    return withRealPath(workspace, path, {}, ({ real, path: named, isRoot }) =>
      withFolder(isRoot ? `${real}/` : real, async (openPath) => {
        const names = (await readdir(openPath)).toSorted((a, b) => (a < b ? -1 : 1))
        const found = await Promise.all(
          names.slice(0, maxListed).map((child) => statAt(join(openPath, child), `${named}/${child}`)),
        )
        return { entries: found.filter(Boolean), truncated: names.length > maxListed }
      }),
    )
  }

  async function remove(name, path) {
    const workspace = await workspaces.open(name)
    try {
      return await withRealPath(workspace, path, { follow: false }, async ({ real, path: named, isRoot }) => {
        if (isRoot) throw new ProtocolError('invalid', `This cannot be removed: ${named}`)
        if (!(await statAt(real, named))) return { removed: false }
        await removeEvenLocked(name, named, () => removeAll(dirname(real), basename(real), named))
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
    return withRealPath(workspace, from, no, (source) =>
      withRealPath(workspace, to, { ...no, make: true }, async (target) => {
        if (source.isRoot || target.isRoot) throw new ProtocolError('invalid', 'The workspace itself cannot be moved.')
        const there = await statAt(target.real, target.path)
        if (there?.type === 'directory') throw new ProtocolError('invalid', `This is a directory: ${target.path}`)
        await rename(source.real, target.real)
        return {}
      }),
    )
  }

  /** This user may not look into a folder that a command has locked. Inside, a command of ours may. */
  async function removeEvenLocked(name, named, work) {
    try {
      await work()
    } catch (error) {
      const removed = await own.run(name, `rm -rf -- ${quote(named)}`)
      if (removed?.code !== 0) throw error
    }
  }

  /**
   * Lists everything below /workspace and /tmp; a folder comes before its contents. Folders with the names of `shallow` are
   * listed without their contents.
   */
  async function tree(name, shallow) {
    for (const each of shallow)
      if (!namePattern.test(each)) throw new ProtocolError('invalid', `This is not a name of a folder: ${each}`)
    const workspace = await workspaces.open(name)
    const found = await listTree(workspace, new Set(shallow))
    return (
      (found.isLocked && (await listLocked(name, shallow))) || { entries: found.entries, truncated: found.truncated }
    )
  }

  async function listTree(workspace, shallow) {
    const entries = []
    let isLocked = false
    for (const [inside, real] of rootsOf(workspace))
      await walk(real, inside, {
        visit: async (entry) => entries.push(entry) < maxTreeEntries,
        isShallow: (folder) => shallow.has(folder),
        onLocked: () => (isLocked = true),
      })
    return { entries, truncated: isLocked || entries.length >= maxTreeEntries, isLocked }
  }

  async function listLocked(name, shallow) {
    const pruned = shallow.map((each) => `-name ${quote(each)}`).join(' -o ')
    const print = `-printf '%y\\t%s\\t%T@\\t%p\\0'`
    const command = `find /workspace /tmp -mindepth 1 ${pruned && `-type d '(' ${pruned} ')' ${print} -prune -o `}${print}`
    const listed = await own.run(name, `${command} | head -z -n ${maxTreeEntries}`)
    if (listed?.code !== 0) return undefined
    const entries = listed.output.split('\0').filter(Boolean).map(parseFound)
    return { entries, truncated: entries.length >= maxTreeEntries }
  }

  /** Removes everything in the workspace, but not its folders. */
  async function clear(name) {
    const workspace = await workspaces.open(name)
    for (const [inside, real] of rootsOf(workspace))
      for (const child of await readdir(real))
        await removeEvenLocked(name, `${inside}/${child}`, () => removeAll(real, child, child))
    workspaces.changed(workspace)
  }

  return { openRead, write, stat, list, remove, move, tree, clear }
}

/** Parses the output of `find`: type, bytes, time, path. */
function parseFound(line) {
  const [kind, size, time, ...path] = line.split('\t')
  const type = { d: 'directory', l: 'link' }[kind] ?? 'file'
  const bytes = type === 'directory' ? 0 : Number(size)
  return { path: path.join('\t'), type, size: bytes, modified: Math.round(Number(time) * 1000) }
}

const tooLarge = ({ FILE_BYTES }) => new ProtocolError('too_large', `A file may have ${FILE_BYTES} bytes.`, 'Split it.')

/** Parses an HTTP range: `bytes=from-to`, `bytes=from-`, `bytes=-last`. */
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
