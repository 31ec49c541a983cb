// Resolves sandbox paths to real paths, never outside of the workspace. Links are resolved here and not by the kernel,
// because an absolute link has another target inside the sandbox. Each folder is opened relative to its open parent
// without following links, so that concurrent changes by commands cannot redirect an access.

import { constants } from 'node:fs'
import { lstat, mkdir, open, readlink } from 'node:fs/promises'
import { join } from 'node:path'
import { absolute } from './command.mjs'
import { fromFileSystemError, ProtocolError } from './protocol-error.mjs'

const maxLinks = 32

/** The folders of a workspace: the path inside and the real one. */
export const rootsOf = (workspace) => [
  ['/workspace', workspace.home],
  ['/tmp', workspace.tmp],
]

function outside(path) {
  return new ProtocolError('outside', `This is outside of the workspace: ${path}`, 'Files are in /workspace and /tmp.')
}

/** Splits a path into its root and the remaining parts. */
function splitRoot(path, workspace) {
  for (const [inside, real] of rootsOf(workspace))
    if (path === inside || path.startsWith(`${inside}/`))
      return {
        inside,
        real,
        parts: path
          .slice(inside.length + 1)
          .split('/')
          .filter(Boolean),
      }
  throw outside(path)
}

/** Resolves links; the last name only when `last` is true. Missing parts stay as they are. */
async function resolveLinks(path, workspace, last) {
  let left = maxLinks
  let at = absolute(path)
  for (let i = 0; ; i++) {
    const { inside, real, parts } = splitRoot(at, workspace)
    if (i >= parts.length) return at
    if (i === parts.length - 1 && !last) return at
    const here = join(real, ...parts.slice(0, i + 1))
    const target = await readlink(here).catch(() => undefined)
    if (target === undefined) continue
    if (--left < 0) throw new ProtocolError('invalid', `Too many links: ${path}`)
    const folder = [inside, ...parts.slice(0, i)].join('/')
    at = absolute([target.startsWith('/') ? target : `${folder}/${target}`, ...parts.slice(i + 1)].join('/'))
    i = -1
  }
}

/**
 * Runs `work` with a real path whose folder stays open, so that concurrent changes cannot redirect it. `make` creates
 * missing folders; `follow` resolves a link in the last name.
 */
export async function withRealPath(workspace, path, { make = false, follow = true }, work) {
  const named = absolute(path)
  try {
    const at = await resolveLinks(named, workspace, follow)
    const { real, parts } = splitRoot(at, workspace)
    const handle = await openFolder(real, parts.slice(0, -1), make)
    try {
      const openPath = descriptorPath(handle)
      return await work({
        real: parts.length ? join(openPath, parts.at(-1)) : openPath,
        path: named,
        isRoot: !parts.length,
      })
    } finally {
      await handle.close()
    }
  } catch (error) {
    throw error instanceof ProtocolError ? error : fromFileSystemError(error, named)
  }
}

const descriptorPath = (handle) => `/proc/self/fd/${handle.fd}`
const asFolder = constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW

/** Opens folder after folder, each relative to its open parent: a link that appears meanwhile is an error. */
async function openFolder(real, parts, make) {
  let handle = await open(real, constants.O_RDONLY | constants.O_DIRECTORY)
  for (const part of parts) {
    const above = handle
    try {
      const path = join(descriptorPath(above), part)
      if (make) await mkdir(path).catch((error) => error.code === 'EEXIST' || Promise.reject(error))
      handle = await open(path, asFolder)
    } finally {
      await above.close()
    }
  }
  return handle
}

/** Returns the entry at a path, or undefined. A link is not followed. */
export async function statAt(real, path) {
  const stats = await lstat(real).catch((error) => {
    if (['ENOENT', 'ENOTDIR'].includes(error.code)) return undefined
    throw error
  })
  if (!stats) return undefined
  const type = stats.isDirectory() ? 'directory' : stats.isSymbolicLink() ? 'link' : 'file'
  return { path, type, size: type === 'directory' ? 0 : stats.size, modified: Math.round(stats.mtimeMs) }
}
