/** Paths are absolute, without `.`, `..`, doubled or trailing slashes; the root is `/`. */

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

/** What a person or a model writes: relative to `cwd`, or with `~` for the workspace. */
export function resolvePath(path: string, cwd: string = workspaceRoot): string {
  if (path === '~' || path.startsWith('~/')) return normalize(workspaceRoot + path.slice(1))
  return normalize(path.startsWith('/') ? path : `${cwd}/${path}`)
}

export function parentOf(path: string): string {
  const cut = path.lastIndexOf('/')
  return cut <= 0 ? '/' : path.slice(0, cut)
}

export const nameOf = (path: string): string => path.slice(path.lastIndexOf('/') + 1)

export const join = (parent: string, name: string): string => (parent === '/' ? `/${name}` : `${parent}/${name}`)

export const isUnder = (path: string, directory: string): boolean =>
  directory === '/' ? path !== '/' : path.startsWith(`${directory}/`)

/** Devices, processes and stubs of commands: they exist in the shell's memory and are never stored. */
export const isSynthetic = (path: string): boolean => /^\/(bin|usr\/bin|dev|proc)(\/|$)/.test(path)

/** Present in every workspace without a row, so that an untouched session has none. */
const ALWAYS = new Set(['/', workspaceRoot, '/tmp', '/usr'])
export const isBuiltIn = (path: string): boolean => ALWAYS.has(path)
export const builtInFolders: readonly string[] = ['tmp', 'usr', workspaceRoot.slice(1)]
