/**
 * Resolves paths and classifies them by what may be done there. Symbolic links are not followed: creating one needs
 * approval.
 */

import {
  anyText,
  canMatch,
  isGlob,
  isLiteral,
  isUnknown,
  anyCharacter,
  anyWords,
  anyCharacters,
  type Field,
} from './field.ts'
import type { HostContext, Shell } from './shell-state.ts'

export type Zone = 'inside' | 'temporary' | 'sink' | 'device' | 'trusted' | 'outside' | 'unknown'

/** Resolves `.`, `..` and relative paths. The result is absolute or unknown. */
export function resolvePath(path: Field, cwd: Field): Field {
  const parts: string[] = []
  for (const part of `${path.startsWith('/') ? '' : `${cwd}/`}${path}`.split('/')) {
    if (part === '' || part === '.') continue
    // An unknown part may have several levels, so `..` leads to an unknown directory.
    if (part === '..' && parts.some((earlier) => isUnknown(earlier))) return anyText
    if (part === '..') parts.pop()
    else parts.push(part)
  }
  const front = path.startsWith('/') ? path[0] : cwd[0]
  return front === '/' ? `/${parts.join('/')}` : anyText
}

export const resolvePaths = (path: Field, shell: Shell): readonly Field[] =>
  shell.cwd.map((cwd) => resolvePath(path, cwd))

const isWithin = (path: string, root: string): boolean => {
  const base = root.endsWith('/') ? root.slice(0, -1) : root
  return base !== '' && (path === base || path.startsWith(`${base}/`))
}

const sinks = new Set(['/dev/null', '/dev/stdout', '/dev/stderr', '/dev/stdin', '/dev/tty', '/dev/zero', '/dev/full'])
const temporaryRoots = ['/tmp', '/var/tmp', '/private/tmp']

/** Files that programs execute or trust. Writing them is like running code. */
const trustedPath =
  /(^|\/)(\.git(config|modules|attributes)?(\/|$)|\.ssh(\/|$)|\.(bash|zsh|k?sh|csh|tcsh)(rc|env|_profile|_login|_logout|_aliases)$|\.zprofile$|\.zlogin$|\.profile$|\.inputrc$|\.envrc$|\.env$|\.netrc$|\.npmrc$|\.pypirc$|\.pgpass$|\.vimrc$|\.exrc$|\.aws(\/|$)|\.gnupg(\/|$)|\.kube(\/|$)|\.docker(\/|$)|\.config(\/|$)|\.husky(\/|$)|authorized_keys$|crontab$|sitecustomize\.py$|usercustomize\.py$|\.pth$)/

export function getZone(path: Field, around: HostContext): Zone {
  // An unknown part may contain `..` and lead anywhere.
  if (isUnknown(path) || !path.startsWith('/')) return 'unknown'
  if (isWithin(path, '/dev')) return getDeviceZone(path)
  if (trustedPath.test(path) || (isGlob(path) && /\/\.[^/]*[\uE000-\uE003]/.test(path))) return 'trusted'
  if (isWithin(path, around.workspace)) return 'inside'
  return temporaryRoots.some((temporary) => isWithin(path, temporary)) ? 'temporary' : 'outside'
}

function getDeviceZone(path: string): Zone {
  if (sinks.has(path) || /^\/dev\/fd\/\d+$/.test(path)) return 'sink'
  return path.startsWith('/dev/shm/') ? 'temporary' : 'device'
}

export const getHome = (around: HostContext): string => around.env?.['HOME'] ?? '/home/user'

/** Root directories that do not belong to the system. */
const ordinaryDirectories = new Set([
  'tmp',
  'workspace',
  'workspaces',
  'work',
  'app',
  'data',
  'repo',
  'project',
  'src',
  'code',
  'build',
])
const systemDirectories = [
  'bin',
  'boot',
  'dev',
  'etc',
  'home',
  'lib',
  'lib32',
  'lib64',
  'libx32',
  'mnt',
  'media',
  'nix',
  'opt',
]
const moreSystemDirectories = [
  'proc',
  'root',
  'run',
  'sbin',
  'srv',
  'sys',
  'usr',
  'var',
  'Users',
  'System',
  'Library',
  'Applications',
]
const vitalRootDirectories = [...systemDirectories, ...moreSystemDirectories]
const vitalSubdirectories: Readonly<Record<string, readonly string[]>> = {
  usr: ['bin', 'sbin', 'lib', 'lib64', 'local', 'share', 'include', 'libexec', 'src'],
  var: ['lib', 'log', 'www', 'spool', 'cache', 'mail', 'db', 'backups'],
  etc: ['ssh', 'ssl', 'pam.d', 'systemd', 'init.d', 'apt', 'default'],
  System: ['Library'],
}

const isAllWildcards = (part: string): boolean =>
  part !== '' &&
  [...part].every((char) => char === anyCharacters || char === anyCharacter || char === anyText || char === anyWords)

/** Whether the path is the root, a home or a system directory as a whole. Recursive changes to it are refused. */
export function isVital(path: Field, around: HostContext): boolean {
  if (!path.startsWith('/')) return false
  const parts = path.split('/').filter((part) => part !== '')
  while (matchesEverything(parts.at(-1) ?? '')) parts.pop()
  const whole = `/${parts.join('/')}`
  if (parts.length === 0 || canMatch(whole, getHome(around))) return true
  if (isLiteral(whole) && isWithin(around.workspace, whole) && whole !== around.workspace) return true
  if (isUnknown(whole) || parts.length > 2) return false
  return parts.length === 1 ? isVitalInRoot(whole, whole.slice(1), around) : isVitalSubdirectory(parts)
}

/** `*` and `.*` at the end of a path match everything in the directory. */
const matchesEverything = (part: string): boolean =>
  part.includes(anyCharacters) &&
  (isAllWildcards(part) ||
    (isAllWildcards(part.slice(1)) && part.startsWith('.')) ||
    isAllWildcards(part.replace(/^\.[\uE003]+/, '')))

function isVitalInRoot(whole: string, part: string, around: HostContext): boolean {
  if (isGlob(part)) return vitalRootDirectories.some((name) => canMatch(part, name))
  return whole !== around.workspace && !ordinaryDirectories.has(part)
}

function isVitalSubdirectory([first = '', second = '']: readonly string[]): boolean {
  if (canMatch(first, 'home') || canMatch(first, 'Users')) return true
  return Object.entries(vitalSubdirectories).some(
    ([name, below]) => canMatch(first, name) && below.some((dir) => canMatch(second, dir)),
  )
}

const diskPath =
  /^\/dev\/(sd|hd|vd|xvd|nvme|mmcblk|dm-|md|loop|sr|disk|rdisk|mapper\/|disk\/|mem$|kmem$|port$|nbd|ram|zd|root$|block\/)/

/** Whether the path is a block device or the memory of the host. */
export const isDisk = (path: Field): boolean =>
  diskPath.test(path) ||
  (path.startsWith('/dev/') &&
    isGlob(path) &&
    ['sda', 'sda1', 'nvme0n1', 'vda', 'hda'].some((disk) => canMatch(path, `/dev/${disk}`)))

/** Writing to this file stops or resets the host. */
export const isPowerSwitch = (path: Field): boolean => canMatch(path, '/proc/sysrq-trigger') && !isUnknown(path)

const secretPath =
  /(^|\/)(\.ssh(\/|$)|\.aws(\/|$)|\.gnupg(\/|$)|\.kube(\/|$)|\.docker\/config\.json|\.config\/(gh|gcloud|op)(\/|$)|\.netrc$|\.pgpass$|\.npmrc$|\.pypirc$|\.git-credentials$|id_(rsa|dsa|ecdsa|ed25519)$|\.env(\.(local|production|prod|development|staging))?$|credentials(\.json)?$|[^/]*_history$|environ$|[^/]*\.(pem|key|p12|pfx|keystore|kdbx)$)|^\/etc\/(shadow|gshadow|sudoers)|^\/proc\/[^/]*\/(mem|root)|^\/dev\/(tcp|udp)\//

/** Whether reading the path reveals a secret or opens a connection. */
export const isSecret = (path: Field): boolean =>
  secretPath.test(path) ||
  isDisk(path) ||
  secretNames.some((name) => isGlob(path) && /[\uE003]/.test(path) && canMatch(path, name))

const secretNames = ['/etc/shadow', '/etc/passwd', '.env', 'id_rsa']
