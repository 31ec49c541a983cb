/** Normalizes and splits paths. A normalized path is absolute, without `.`, `..`, doubled or trailing slashes. */

export const workspaceRoot = '/workspace'

export function normalize(path: string): string {
  const parts: string[] = []
  for (const part of path.split('/')) {
    if (part === '' || part === '.') continue
    if (part === '..') parts.pop()
    else parts.push(part)
  }
  return `/${parts.join('/')}`
}

/** Resolves a path that is relative to `cwd`, or begins with `~` for the workspace. */
export function resolvePath(path: string, cwd: string = workspaceRoot): string {
  if (path === '~' || path.startsWith('~/')) return normalize(workspaceRoot + path.slice(1))
  return normalize(path.startsWith('/') ? path : `${cwd}/${path}`)
}

export function getParent(path: string): string {
  const cut = path.lastIndexOf('/')
  return cut <= 0 ? '/' : path.slice(0, cut)
}

export const nameOf = (path: string): string => path.slice(path.lastIndexOf('/') + 1)

export const join = (parent: string, name: string): string => (parent === '/' ? `/${name}` : `${parent}/${name}`)

export const isUnder = (path: string, directory: string): boolean =>
  directory === '/' ? path !== '/' : path.startsWith(`${directory}/`)

/** Whether a path is a device, a process or a command stub, which exist only in the shell's memory. */
export const isSynthetic = (path: string): boolean => /^\/(bin|usr\/bin|dev|proc)(\/|$)/.test(path)

/** Folders that exist in every workspace without a row. */
const builtInPaths = new Set(['/', workspaceRoot, '/tmp', '/usr'])
export const isBuiltIn = (path: string): boolean => builtInPaths.has(path)
export const builtInFolders: readonly string[] = ['tmp', 'usr', workspaceRoot.slice(1)]
