/** Where a path leads, and what may be done there. Paths are compared as text: links are made nowhere unasked. */

import { ANY, canBe, isGlob, isLiteral, isUnknown, ONE, SPLIT, STAR, type Field } from './marks.ts'
import type { Around, Shell } from './shell.ts'

export type Zone = 'inside' | 'temporary' | 'sink' | 'device' | 'trusted' | 'outside' | 'unknown'

/** Parts resolved, relative ones against the directory; `/` at the front. */
export function resolvePath(path: Field, cwd: Field): Field {
  const parts: string[] = []
  for (const part of `${path.startsWith('/') ? '' : `${cwd}/`}${path}`.split('/')) {
    if (part === '' || part === '.') continue
    // Whatever an unknown part is, `..` may leave more than that part.
    if (part === '..' && parts.some((earlier) => isUnknown(earlier))) return ANY
    if (part === '..') parts.pop()
    else parts.push(part)
  }
  const front = path.startsWith('/') ? path[0] : cwd[0]
  return front === '/' ? `/${parts.join('/')}` : ANY
}

export const places = (path: Field, shell: Shell): readonly Field[] => shell.cwd.map((cwd) => resolvePath(path, cwd))

const within = (path: string, root: string): boolean => {
  const base = root.endsWith('/') ? root.slice(0, -1) : root
  return base !== '' && (path === base || path.startsWith(`${base}/`))
}

const SINKS = new Set(['/dev/null', '/dev/stdout', '/dev/stderr', '/dev/stdin', '/dev/tty', '/dev/zero', '/dev/full'])
const TEMPORARY = ['/tmp', '/var/tmp', '/private/tmp']

/** Files that programs trust and run: writing them is running them. */
const TRUSTED =
  /(^|\/)(\.git(config|modules|attributes)?(\/|$)|\.ssh(\/|$)|\.(bash|zsh|k?sh|csh|tcsh)(rc|env|_profile|_login|_logout|_aliases)$|\.zprofile$|\.zlogin$|\.profile$|\.inputrc$|\.envrc$|\.env$|\.netrc$|\.npmrc$|\.pypirc$|\.pgpass$|\.vimrc$|\.exrc$|\.aws(\/|$)|\.gnupg(\/|$)|\.kube(\/|$)|\.docker(\/|$)|\.config(\/|$)|\.husky(\/|$)|authorized_keys$|crontab$|sitecustomize\.py$|usercustomize\.py$|\.pth$)/

export function zoneOf(path: Field, around: Around): Zone {
  // What is not known may hold `..` and lead anywhere.
  if (isUnknown(path) || !path.startsWith('/')) return 'unknown'
  if (within(path, '/dev')) return deviceZone(path)
  if (TRUSTED.test(path) || (isGlob(path) && /\/\.[^/]*[\uE000-\uE003]/.test(path))) return 'trusted'
  if (within(path, around.workspace)) return 'inside'
  return TEMPORARY.some((temporary) => within(path, temporary)) ? 'temporary' : 'outside'
}

function deviceZone(path: string): Zone {
  if (SINKS.has(path) || /^\/dev\/fd\/\d+$/.test(path)) return 'sink'
  return path.startsWith('/dev/shm/') ? 'temporary' : 'device'
}

export const homeOf = (around: Around): string => around.env?.['HOME'] ?? '/home/user'

/** Directories of the first level that hold nothing of the system. */
const ORDINARY = new Set([
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
const SYSTEM = ['bin', 'boot', 'dev', 'etc', 'home', 'lib', 'lib32', 'lib64', 'libx32', 'mnt', 'media', 'nix', 'opt']
const MORE = ['proc', 'root', 'run', 'sbin', 'srv', 'sys', 'usr', 'var', 'Users', 'System', 'Library', 'Applications']
const FIRST = [...SYSTEM, ...MORE]
const SECOND: Readonly<Record<string, readonly string[]>> = {
  usr: ['bin', 'sbin', 'lib', 'lib64', 'local', 'share', 'include', 'libexec', 'src'],
  var: ['lib', 'log', 'www', 'spool', 'cache', 'mail', 'db', 'backups'],
  etc: ['ssh', 'ssl', 'pam.d', 'systemd', 'init.d', 'apt', 'default'],
  System: ['Library'],
}

const all = (part: string): boolean =>
  part !== '' && [...part].every((char) => char === STAR || char === ONE || char === ANY || char === SPLIT)

/** The root, a home or a directory of the system, as a whole: nothing recursive ever happens to it. */
export function isVital(path: Field, around: Around): boolean {
  if (!path.startsWith('/')) return false
  const parts = path.split('/').filter((part) => part !== '')
  while (isStarPart(parts.at(-1) ?? '')) parts.pop()
  const whole = `/${parts.join('/')}`
  if (parts.length === 0 || canBe(whole, homeOf(around))) return true
  if (isLiteral(whole) && within(around.workspace, whole) && whole !== around.workspace) return true
  if (isUnknown(whole) || parts.length > 2) return false
  return parts.length === 1 ? vitalFirst(whole, whole.slice(1), around) : vitalSecond(parts)
}

/** `*` and `.*` at the end of a path are all that is in it. */
const isStarPart = (part: string): boolean =>
  part.includes(STAR) &&
  (all(part) || (all(part.slice(1)) && part.startsWith('.')) || all(part.replace(/^\.[\uE003]+/, '')))

function vitalFirst(whole: string, part: string, around: Around): boolean {
  if (isGlob(part)) return FIRST.some((name) => canBe(part, name))
  return whole !== around.workspace && !ORDINARY.has(part)
}

function vitalSecond([first = '', second = '']: readonly string[]): boolean {
  if (canBe(first, 'home') || canBe(first, 'Users')) return true
  return Object.entries(SECOND).some(([name, below]) => canBe(first, name) && below.some((dir) => canBe(second, dir)))
}

const DISK =
  /^\/dev\/(sd|hd|vd|xvd|nvme|mmcblk|dm-|md|loop|sr|disk|rdisk|mapper\/|disk\/|mem$|kmem$|port$|nbd|ram|zd|root$|block\/)/

/** A block device or the machine's memory. */
export const isDisk = (path: Field): boolean =>
  DISK.test(path) ||
  (path.startsWith('/dev/') &&
    isGlob(path) &&
    ['sda', 'sda1', 'nvme0n1', 'vda', 'hda'].some((disk) => canBe(path, `/dev/${disk}`)))

/** Written to, these stop or reset the machine. */
export const isSwitch = (path: Field): boolean => canBe(path, '/proc/sysrq-trigger') && !isUnknown(path)

const SECRET =
  /(^|\/)(\.ssh(\/|$)|\.aws(\/|$)|\.gnupg(\/|$)|\.kube(\/|$)|\.docker\/config\.json|\.config\/(gh|gcloud|op)(\/|$)|\.netrc$|\.pgpass$|\.npmrc$|\.pypirc$|\.git-credentials$|id_(rsa|dsa|ecdsa|ed25519)$|\.env(\.(local|production|prod|development|staging))?$|credentials(\.json)?$|[^/]*_history$|environ$|[^/]*\.(pem|key|p12|pfx|keystore|kdbx)$)|^\/etc\/(shadow|gshadow|sudoers)|^\/proc\/[^/]*\/(mem|root)|^\/dev\/(tcp|udp)\//

/** Reading it shows a secret, or opens a connection. */
export const isSecret = (path: Field): boolean =>
  SECRET.test(path) ||
  isDisk(path) ||
  SECRET_NAMES.some((name) => isGlob(path) && /[\uE003]/.test(path) && canBe(path, name))

const SECRET_NAMES = ['/etc/shadow', '/etc/passwd', '.env', 'id_rsa']
