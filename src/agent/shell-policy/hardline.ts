/**
 * Lists what never runs, in any mode: removing or changing the root, homes and system directories as a whole,
 * overwriting disks, switching the host off, ending every process.
 */

import { canMatch, isGlob, isUnknown, renderField, type Field } from '#agent/path-policy/field.ts'
import { resolvePath } from '#agent/path-policy/judge-path.ts'
import { followLinks, type Links } from '#agent/path-policy/links.ts'
import { isDisk, isPowerSwitch, isVital } from '#agent/path-policy/vital-paths.ts'
import type { HostContext } from '#agent/core/permission/shell-policy.ts'

/** `work` limits how many guesses of what may run are tried. */
export type HardlineContext = {
  readonly host: HostContext
  readonly cwd: readonly Field[]
  readonly work: { remainingGuesses: number; readonly links: Links }
}

/** Returns why the vector never runs, or undefined. */
type HardlineRule = (args: readonly Field[], place: HardlineContext, name: string) => string | undefined

/** `keepsLast`: a link in the last name is not followed, as where it is removed. */
const resolveAll = (path: Field, { cwd, work: { links } }: HardlineContext, keepsLast = false): readonly Field[] =>
  links.size === 0
    ? cwd.map((directory) => resolvePath(path, directory))
    : cwd.flatMap((directory) => followLinks(path, directory, links, keepsLast))
const isVitalPath = (path: Field, place: HardlineContext, keepsLast = false): boolean =>
  [...resolveAll(path, place, keepsLast), path].some((resolved) => isVital(resolved, place.host))
const isDiskPath = (path: Field, place: HardlineContext): boolean => resolveAll(path, place).some(isDisk)

const isAbbreviation = (word: Field, ...names: readonly string[]): boolean => {
  const written = /^--([\w-]+)/.exec(word)?.[1]
  return written !== undefined && names.some((name) => name.startsWith(written))
}

/** Whether a program with these arguments works on everything below its operands. */
const isRecursive = (args: readonly Field[], letters: RegExp): boolean => {
  const end = args.indexOf('--')
  return (end === -1 ? args : args.slice(0, end)).some(
    (word) =>
      (/^-[A-Za-z]+$/.test(word) && letters.test(word)) || isAbbreviation(word, 'recursive', 'no-preserve-root'),
  )
}

const listOperands = (args: readonly Field[]): readonly Field[] => {
  const end = args.indexOf('--')
  const before = (end === -1 ? args : args.slice(0, end)).filter((word) => !/^-./.test(word))
  return end === -1 ? before : [...before, ...args.slice(end + 1)]
}

const findVital = (paths: readonly Field[], place: HardlineContext, keepsLast = false): Field | undefined =>
  paths.find((path) => isVitalPath(path, place, keepsLast))

const remove: HardlineRule = (args, place, name) => {
  const isDeep = /^(rimraf|trash|trash-put|del|deltree)$/.test(name) || isRecursive(args, /[rR]/)
  const paths = listOperands(args)
  const disk = paths.find((path) => isDiskPath(path, place))
  if (disk !== undefined) return `would remove ${renderField(disk)}, a device`
  const vital = findVital(
    paths.filter((path) => isDeep || isGlob(path)),
    place,
    true,
  )
  return vital && `would remove ${renderField(vital)} and everything in it`
}

const changeTree: HardlineRule = (args, place) => {
  if (!isRecursive(args, /R/)) return undefined
  const vital = findVital(listOperands(args), place)
  return vital && `would change the rights of ${renderField(vital)} and everything in it`
}

const move: HardlineRule = (args, place) => {
  const operands = listOperands(args)
  const target = args.some((word) => /^-[A-Za-z]*t/.test(word) || isAbbreviation(word, 'target-directory'))
  const vital = findVital(target ? operands : operands.slice(0, -1), place, true)
  return vital && `would move ${renderField(vital)} away`
}

const harmlessOption = /^(--help|--version|-V|-n|--dry-run|-h)$/

const format: HardlineRule = (args, place, name) => {
  const device = args.find((word) => isDiskPath(word.replace(/^\w+=/, ''), place) || word.startsWith('/dev/'))
  if (device === undefined || (args.some((word) => harmlessOption.test(word)) && name !== 'mkswap')) return undefined
  return `would destroy what is on ${renderField(device)}`
}

/** A disk program with one of these options or commands. */
const disk =
  (switches: RegExp): HardlineRule =>
  (args, place) => {
    const device = args.find((word) => isDiskPath(word, place))
    const isDestructive = device !== undefined && args.some((word) => word !== device && switches.test(word))
    return isDestructive || (device !== undefined && switches.test(''))
      ? `would destroy what is on ${renderField(device)}`
      : undefined
  }

const overwrite: HardlineRule = (args, place) => {
  const device = listOperands(args).find(
    (path) => isDiskPath(path, place) || resolveAll(path, place).some(isPowerSwitch),
  )
  return device && `would overwrite ${renderField(device)}, a device`
}

const overwriteLast: HardlineRule = (args, place, name) => overwrite(listOperands(args).slice(-1), place, name)

const shred: HardlineRule = (args, place) => {
  const path = listOperands(args).find((operand) => isDiskPath(operand, place) || isVitalPath(operand, place))
  return path && `would destroy ${renderField(path)}`
}

const copyBlocks: HardlineRule = (args, place) => {
  const target = args.find((word) => {
    const path = word.startsWith('of=') ? word.slice(3) : ''
    return path !== '' && (isDiskPath(path, place) || isVitalPath(path, place) || isPowerSwitch(path))
  })
  return target && `would overwrite ${renderField(target.slice(3))}`
}

const switchOff: HardlineRule = (args, _place, name) => {
  if (args.some((word) => /^(--help|--version|-c|--show|-k|-w|--wtmp-only)$/.test(word))) return undefined
  const hasTime = args.length === 0 || args.some((word) => /^(now|\+?\d+|\d+:\d+|-[a-zA-Z]+|--\w+)$/.test(word))
  return name !== 'shutdown' || hasTime ? 'switches the machine off' : undefined
}

const runLevel: HardlineRule = (args) => {
  const level = args.find((word) => !word.startsWith('-')) ?? ''
  return /^[0156sS]$/.test(level) ? `${level} stops the machine` : undefined
}

const stoppingVerb =
  /^(poweroff|reboot|halt|kexec|soft-reboot|emergency|rescue|suspend|hibernate|hybrid-sleep|exit|((poweroff|reboot|halt|emergency|rescue|kexec|shutdown|runlevel[06])\.target))$/

const services: HardlineRule = (args) => {
  const words = args.filter((word) => !word.startsWith('-'))
  const verb = words.find((word, i) => stoppingVerb.test(word) && (i === 0 || word.includes('.')))
  return verb && `${verb} stops the machine`
}

const kill: HardlineRule = (args) => {
  const option = args.findIndex((word) => /^(-[sn]|--signal)$/.test(word))
  const from = option === -1 ? (/^-[A-Za-z\d]/.test(args[0] ?? '') ? 1 : 0) : option + 2
  return args.slice(from).some((word) => /^-0*1$/.test(word)) ? 'would end every process' : undefined
}

const killByName: HardlineRule = (args) => {
  const patterns: Field[] = []
  let user = ''
  for (let i = 0; i < args.length; i++) {
    const word = args[i] ?? ''
    if (/^-[uU]$/.test(word)) user = args[++i] ?? ''
    else if (/^-[GgPst]$/.test(word)) i++
    else if (!/^-./.test(word)) patterns.push(word)
  }
  const isAll = patterns.some((pattern) => /^(\.?[*+]?|\^\.?|\$|\[a-z\]|\.\*\.|\^?\.\*\$?)$/.test(pattern))
  return isAll || (patterns.length === 0 && user === 'root') ? 'would end every process' : undefined
}

const sync: HardlineRule = (args, place) => {
  const target = listOperands(args).at(-1) ?? ''
  const deletes = args.some((word) => word.startsWith('--del') || word.startsWith('--remove-s'))
  return deletes && isVitalPath(target, place) ? `would remove what is in ${renderField(target)}` : undefined
}

const selecting = /^-(i?name|i?path|i?regex|size|[acm](time|min)|newer\w*|empty|user|group|perm|inum|links)$/

/** Whether find selects only some of the files. `-type` and `-name '*'` select all. */
export const isSelective = (args: readonly Field[]): boolean =>
  args.some(
    (word, i) => selecting.test(word) && !/^[*./]+$/.test(args[i + 1] ?? '') && !/^(!|-not)$/.test(args[i - 1] ?? ''),
  )

export const listFindStarts = (args: readonly Field[]): readonly Field[] => {
  const first = args.findIndex((word) => /^-(?![HLPD]$|O\d)/.test(word) || word === '(' || word === '!')
  const starts = (first === -1 ? args : args.slice(0, first)).filter((word) => !word.startsWith('-'))
  return starts.length === 0 ? ['.'] : starts
}

const find: HardlineRule = (args, place) => {
  const vital = findVital(listFindStarts(args), place)
  const isAll = vital !== undefined && !isSelective(args)
  return isAll && args.includes('-delete') ? `would remove everything in ${renderField(vital)}` : undefined
}

const always =
  (reason: string): HardlineRule =>
  () =>
    reason

const rules: Readonly<Record<string, HardlineRule>> = {
  rm: remove,
  grm: remove,
  rimraf: remove,
  'Remove-Item': remove,
  unlink: remove,
  trash: remove,
  'trash-put': remove,
  rmdir: (args, place, name) =>
    args.some((word) => isAbbreviation(word, 'parents'))
      ? undefined
      : remove(
          args.filter((word) => isGlob(word)),
          place,
          name,
        ),
  shred,
  srm: shred,
  wipe: shred,
  truncate: overwrite,
  tee: overwrite,
  cp: overwriteLast,
  install: overwriteLast,
  mv: move,
  gmv: move,
  chmod: changeTree,
  chown: changeTree,
  chgrp: changeTree,
  setfacl: changeTree,
  chattr: changeTree,
  mkfs: format,
  newfs: format,
  mke2fs: format,
  mkswap: format,
  blkdiscard: format,
  wipefs: disk(/^-\w*[ao]|^--(al|of)/),
  fdisk: disk(/^(?!-l$|--list$)-/),
  sfdisk: disk(/^--(del|wipe|activ)/),
  sgdisk: disk(/^-[zZod]|^--(zap|clear|delete)/),
  parted: disk(/^(mklabel|mktable|rm|mkpart|resizepart)$/),
  badblocks: disk(/^-\w*w/),
  hdparm: disk(/^--(security|trim|make-bad)/),
  cryptsetup: disk(/^(luksFormat|erase|luksErase|reencrypt)$/),
  nvme: disk(/^(format|sanitize)$/),
  pvremove: disk(/^/),
  mdadm: disk(/^--zero/),
  diskutil: disk(/^(erase|zero|secureErase|partition|reformat)/i),
  sg_format: disk(/^/),
  nwipe: disk(/^/),
  scrub: disk(/^/),
  dd: copyBlocks,
  dcfldd: copyBlocks,
  shutdown: switchOff,
  reboot: switchOff,
  halt: switchOff,
  poweroff: switchOff,
  init: runLevel,
  telinit: runLevel,
  kexec: (args) => (args.some((word) => /^-\w*e|^--exec/.test(word)) ? 'starts another system' : undefined),
  systemctl: services,
  loginctl: services,
  kill,
  pkill: killByName,
  killall: killByName,
  skill: killByName,
  killall5: always('ends every process'),
  rsync: sync,
  find,
  gfind: find,
}

function toRuleName(program: Field): string {
  const name = program.slice(program.lastIndexOf('/') + 1)
  return /^(mkfs|newfs)[._]/.test(name) ? name.slice(0, name.startsWith('mkfs') ? 4 : 5) : name
}

export const isDestructive = (word: Field): boolean => Object.hasOwn(rules, toRuleName(word))

/** Names that a program word with wildcards is compared with. */
const sampleNames = [...Object.keys(rules), 'mkfs.ext4']

/** Returns why this vector never runs in any mode, or undefined. */
export function findHardline(argv: readonly Field[], place: HardlineContext): string | undefined {
  const [program = '', ...args] = argv
  if (isUnknown(program)) return undefined
  const names = isGlob(program)
    ? sampleNames.filter(
        (name) =>
          canMatch(program, name) || ['/bin/', '/usr/bin/', '/sbin/'].some((dir) => canMatch(program, dir + name)),
      )
    : [toRuleName(program)]
  for (const name of names) {
    const reason = Object.hasOwn(rules, name) ? rules[name]?.(args, place, name) : undefined
    if (reason !== undefined) return `${name} ${reason}`
  }
  return undefined
}
