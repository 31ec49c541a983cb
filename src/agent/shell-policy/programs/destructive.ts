/**
 * Judges programs that destroy files, devices, permissions, processes or the running system. Some calls are always
 * refused.
 */

import { isGlob, isLiteral, isUnknown, renderField, anyWords, type Field } from '../field.ts'
import { isDisk, isVital, resolvePaths } from '../path-zones.ts'
import {
  isAbbreviationOf,
  checkOptions,
  hasOption,
  readOptions,
  checkReads,
  optionValues,
  checkWrites,
} from '../call-checks.ts'
import type { Call, Policy } from '../shell-state.ts'

const isVitalPath = (call: Call, path: Field): boolean =>
  resolvePaths(path, call.shell).some((resolved) => isVital(resolved, call.judge.host)) ||
  (path.startsWith('/') && isVital(path, call.judge.host))

const isDiskPath = (call: Call, path: Field): boolean =>
  resolvePaths(path, call.shell).some((resolved) => isDisk(resolved))

const recursiveOptions = ['recursive', 'no-preserve-root']

const isRecursive = (args: readonly Field[], letters: RegExp): boolean =>
  beforeDoubleDash(args).some(
    (arg) =>
      (/^-[A-Za-z]+$/.test(arg) && letters.test(arg)) || recursiveOptions.some((name) => isAbbreviationOf(arg, name)),
  )

const beforeDoubleDash = (args: readonly Field[]): readonly Field[] =>
  args.includes('--') ? args.slice(0, args.indexOf('--')) : args

const listOperands = (args: readonly Field[]): readonly Field[] => {
  const end = args.indexOf('--')
  const before = (end === -1 ? args : args.slice(0, end)).filter((arg) => !/^-./.test(arg))
  return end === -1 ? before : [...before, ...args.slice(end + 1)]
}

const rm: Policy = (call) => {
  const paths = listOperands(call.args)
  const isDeep = isRecursive(call.args, /[rR]/) || call.name === 'rimraf'
  for (const path of paths) judgeRemoval(call, path, isDeep)
  if (isDeep && paths.length === 0) call.ask(`${call.name} removes directories`)
  if (!isDeep) checkWrites(call, paths, 'remove')
  return ['']
}

function judgeRemoval(call: Call, path: Field, isDeep: boolean): void {
  const text = `${call.name} would remove ${renderField(path)}`
  if (isDiskPath(call, path)) call.refuse(`${text}, a device`)
  else if (isVitalPath(call, path) && (isDeep || isGlob(path))) call.refuse(`${text} and everything in it`)
  else if (isDeep) call.ask(`${text} and everything in it`)
  else if (matchesMany(path)) call.ask(`${text}: the files are only known at run time`)
}

const matchesMany = (path: Field): boolean => {
  const last = path.split('/').at(-1) ?? ''
  return path.includes(anyWords) || isUnknown(path) || /^[\uE002\uE003.]*$/.test(last)
}

const rmdir: Policy = (call) => {
  checkWrites(call, listOperands(call.args), 'remove')
  return ['']
}

const shred: Policy = (call) => {
  for (const path of listOperands(call.args)) {
    if (isDiskPath(call, path)) call.refuse(`${call.name} would overwrite ${renderField(path)}, a device`)
    else if (isVitalPath(call, path)) call.refuse(`${call.name} would destroy ${renderField(path)}`)
  }
  call.ask(`${call.name} destroys files for good`)
  return ['']
}

/** Modes that let everybody write, or that set setuid. */
const looseMode = /^[0-7]?[0-7]{0,2}[2367]$|^0*[2467][0-7]{3}$|[ao][ugo]*[+=][rxXst]*w|(^|,)[+=][rxX]*w|[+=][rwxXt]*s/

const chmod: Policy = (call) => {
  const words = call.args.filter((arg) => !/^-(?:[RvfcHLP]+$|-)/.test(arg))
  const isDeep = isRecursive(call.args, /R/)
  const reference = call.args.some((arg) => isAbbreviationOf(arg, 'reference'))
  const [mode = '', ...rest] = reference ? ['', ...words] : words
  for (const path of rest)
    if (isDeep && isVitalPath(call, path))
      call.refuse(`${call.name} would change the rights of ${renderField(path)} and everything in it`)
  if (reference) call.ask(`${call.name} copies the permissions of another file`)
  if (isDeep)
    call.ask(`${call.name} changes the rights of everything in ${rest.map((path) => renderField(path)).join(' ')}`)
  if (looseMode.test(mode) || !isLiteral(mode))
    call.ask(`${call.name} ${renderField(mode)} lets others write, or run it with other rights`)
  checkWrites(call, rest, 'change the rights of')
  return ['']
}

const chown: Policy = (call) => {
  const [owner = '', ...rest] = listOperands(call.args)
  const isDeep = isRecursive(call.args, /R/)
  for (const path of rest)
    if (isDeep && isVitalPath(call, path))
      call.refuse(`${call.name} would change the owner of ${renderField(path)} and everything in it`)
  call.ask(`${call.name} gives files to ${renderField(owner)}`)
  return ['']
}

const formatDisk: Policy = (call) => {
  const device = call.args.find((arg) => isDiskPath(call, arg.replace(/^\w+=/, '')) || arg.startsWith('/dev/'))
  const harmless = call.args.some(
    (arg) => arg === '--help' || arg === '--version' || arg === '-V' || arg === '-n' || arg === '--dry-run',
  )
  if (device !== undefined && !(harmless && call.name !== 'mkswap'))
    call.refuse(`${call.name} would destroy what is on ${renderField(device)}`)
  call.ask(`${call.name} formats or changes disks`)
  return undefined
}

const createDiskPolicy =
  (switches: RegExp): Policy =>
  (call) => {
    const device = call.args.find((arg) => isDiskPath(call, arg))
    if (device !== undefined && call.args.some((arg) => switches.test(arg)))
      call.refuse(`${call.name} would destroy what is on ${renderField(device)}`)
    call.ask(`${call.name} works on disks`)
    return undefined
  }

const dd: Policy = (call) => {
  for (const arg of call.args) {
    if (!arg.startsWith('of=')) continue
    const path = arg.slice(3)
    if (isVitalPath(call, path)) call.refuse(`dd would overwrite ${renderField(path)}`)
    checkWrites(call, [path], 'overwrite')
  }
  if (!call.args.every((arg) => /^(if|of|bs|ibs|obs|count|seek|skip|conv|status|iflag|oflag)=/.test(arg)))
    call.ask('dd is given an unknown operand')
  for (const arg of call.args) if (arg.startsWith('if=')) checkReads(call, [arg.slice(3)])
  return undefined
}

const shutdownTime = /^(now|\+?\d+|\d+:\d+)$/

const switchOff: Policy = (call) => {
  if (call.args.some((arg) => ['--help', '--version', '-c', '--show', '-k', '-w', '--wtmp-only'].includes(arg)))
    call.ask(`${call.name} may switch the machine off`)
  else if (
    call.name === 'shutdown' &&
    call.args.some((arg) => isUnknown(arg)) &&
    !call.args.some((arg) => shutdownTime.test(arg))
  )
    call.ask('shutdown switches the machine off')
  else call.refuse(`${call.name} switches the machine off`)
  return undefined
}

const init: Policy = (call) => {
  const level = call.args.find((arg) => !arg.startsWith('-')) ?? ''
  if (/^[0156sS]$/.test(level)) call.refuse(`${call.name} ${level} stops the machine`)
  else call.ask(`${call.name} changes what the whole machine runs`)
  return undefined
}

const stoppingVerbs = new Set([
  'poweroff',
  'reboot',
  'halt',
  'kexec',
  'soft-reboot',
  'emergency',
  'rescue',
  'suspend',
  'hibernate',
  'hybrid-sleep',
  'exit',
])
const stoppingTargets = /^(poweroff|reboot|halt|emergency|rescue|kexec|shutdown|runlevel[06])\.target$/
const readingVerbs = new Set([
  'status',
  'is-active',
  'is-enabled',
  'is-failed',
  'list-units',
  'list-unit-files',
  'list-timers',
  'show',
  'cat',
  '--version',
  'get-default',
])

const systemctl: Policy = (call) => {
  const words = call.args.filter((arg) => !arg.startsWith('-'))
  const [verb = ''] = words
  if (stoppingVerbs.has(verb) || words.some((word) => stoppingTargets.test(word)))
    call.refuse(`systemctl ${verb} stops the machine`)
  else if (!readingVerbs.has(verb) && call.args[0] !== '--version')
    call.ask(`systemctl ${verb} changes services of the machine`, `systemctl ${verb}`)
  return undefined
}

const kill: Policy = (call) => {
  const { args } = call
  const [first = ''] = args
  if (first === '' || /^-[lL]/.test(first) || first === '--list') return undefined
  const processes = args.slice(countSignalWords(args)).filter((arg) => arg !== '--')
  // `kill -1` alone is a signal without a process; `kill -- -1` kills every process.
  if (processes.some((process) => /^-0*1$/.test(process))) call.refuse('kill would end every process')
  else if (!isOwnProcess(first, processes))
    call.ask(`kill would end ${processes.map((process) => renderField(process)).join(' ')}`)
  return undefined
}

/** Returns how many words at the start name the signal. */
function countSignalWords(args: readonly Field[]): number {
  const at = args.findIndex((arg) => arg === '-s' || arg === '-n' || arg === '--signal')
  if (at !== -1) return at + 2
  return /^-[A-Za-z\d]/.test(args[0] ?? '') ? 1 : 0
}

/** Whether all processes are jobs of this command line, or the signal is 0, which only checks for a process. */
const isOwnProcess = (first: Field, processes: readonly Field[]): boolean =>
  processes.length > 0 &&
  processes.every((process) => /^%[\w+!-]*$/.test(process) || (first === '-0' && /^(\d+|\uE004)$/.test(process)))

const matchAllPatterns = new Set(['', '.', '.*', '^', '.+', '$', '[a-z]', '^.', '.*.'])

const pkill: Policy = (call) => {
  const options = readOptions(call.args, { short: 'fxnovlacei9', valued: 'uUGgPst' })
  if (options.operands.some((word) => matchAllPatterns.has(word))) call.refuse(`${call.name} would end every process`)
  else if (options.operands.length === 0 && optionValues(options, 'u', 'U').includes('root'))
    call.refuse(`${call.name} would end every process of root`)
  else
    call.ask(
      `${call.name} would end all processes named ${options.operands.map((word) => renderField(word)).join(' ')}`,
    )
  return undefined
}

const mv: Policy = (call) => {
  const options = readOptions(call.args, {
    short: 'finuvT',
    valued: 'tS',
    long: 'force interactive no-clobber update verbose target-directory= no-target-directory backup',
  })
  checkOptions(call, options)
  for (const path of options.operands)
    if (isVitalPath(call, path) && path !== options.operands.at(-1))
      call.refuse(`mv would move ${renderField(path)} away`)
  const target = optionValues(options, 't', 'target-directory')
  checkWrites(call, [...target, ...options.operands], 'move')
  if (hasOption(options, 'backup') || target.length > 1) call.ask('mv is given unusual options')
  for (const path of target.length > 0 ? [] : options.operands.slice(-1)) {
    const [first = ''] = options.operands
    const content = resolvePaths(first, call.shell).map((resolved) => call.shell.files.get(resolved))[0]
    for (const resolved of resolvePaths(path, call.shell))
      if (content !== undefined) call.shell.files.set(resolved, content)
  }
  return ['']
}

const truncate: Policy = (call) => {
  const options = readOptions(call.args, { short: 'co', valued: 'sr', long: 'size= no-create' })
  checkOptions(call, options)
  checkWrites(call, options.operands, 'cut')
  return ['']
}

/** Judges chattr and setfacl: recursive changes of vital paths are refused, others need approval. */
const changeAttributes: Policy = (call) => {
  for (const path of call.args)
    if (isRecursive(call.args, /R/) && isVitalPath(call, path))
      call.refuse(`${call.name} would change the rights of ${renderField(path)} and everything in it`)
  call.ask(`${call.name} changes what may be done to files`)
  return undefined
}

const crontab: Policy = (call) => {
  if (!(call.args.length === 1 && call.args[0] === '-l')) call.ask('crontab changes scheduled jobs')
  return undefined
}

const rsync: Policy = (call) => {
  const options = readOptions(call.args, {
    short: 'avrltpgoDzhnPuqcHAXxSRWi',
    long: 'archive verbose recursive progress dry-run stats human-readable update checksum exclude= include= partial info= itemize-changes',
  })
  checkOptions(call, options)
  const target = options.operands.at(-1) ?? ''
  if (options.operands.some((path) => path.includes(':'))) call.ask('rsync copies to or from another machine')
  if (call.args.some((arg) => arg.startsWith('--del')) && isVitalPath(call, target))
    call.refuse(`rsync would remove what is in ${renderField(target)}`)
  checkWrites(call, [target], 'write into')
  return undefined
}

export const destructive: Readonly<Record<string, Policy>> = {
  rm,
  grm: rm,
  rimraf: rm,
  unlink: rm,
  trash: (call) => rm({ ...call, args: ['-r', ...call.args] }),
  rmdir,
  shred,
  srm: shred,
  wipe: shred,
  truncate,
  mv,
  chmod,
  chown,
  chgrp: chown,
  setfacl: changeAttributes,
  chattr: changeAttributes,
  mkfs: formatDisk,
  mkswap: formatDisk,
  blkdiscard: formatDisk,
  wipefs: createDiskPolicy(/^-\w*[ao]|^--(al|of)/),
  fdisk: createDiskPolicy(/^(?!-l$|--list$)-/),
  sfdisk: createDiskPolicy(/^--(del|wipe|activ)/),
  sgdisk: createDiskPolicy(/^-[zZod]|^--(zap|clear|delete)/),
  parted: createDiskPolicy(/^(mklabel|mktable|rm|mkpart|resizepart)$/),
  badblocks: createDiskPolicy(/^-\w*w/),
  hdparm: createDiskPolicy(/^--(security|trim|make-bad)/),
  cryptsetup: createDiskPolicy(/^(luksFormat|erase|luksErase|reencrypt)$/),
  nvme: createDiskPolicy(/^(format|sanitize)$/),
  pvremove: createDiskPolicy(/./),
  mdadm: createDiskPolicy(/^--zero/),
  diskutil: createDiskPolicy(/^(erase|zero|secureErase|partition|reformat)/i),
  sg_format: createDiskPolicy(/./),
  nwipe: createDiskPolicy(/./),
  scrub: createDiskPolicy(/./),
  dd,
  dcfldd: dd,
  shutdown: switchOff,
  reboot: switchOff,
  halt: switchOff,
  poweroff: switchOff,
  init,
  telinit: init,
  kexec: (call) => {
    if (call.args.some((arg) => /^-\w*e|^--exec/.test(arg))) call.refuse('kexec starts another system')
    else call.ask('kexec prepares another system')
    return undefined
  },
  systemctl,
  loginctl: (call) => systemctl({ ...call, name: 'systemctl' }),
  kill,
  pkill,
  killall: pkill,
  skill: pkill,
  killall5: (call) => {
    call.refuse('killall5 ends every process')
    return undefined
  },
  crontab,
  rsync,
}

/** A command name with wildcards is compared with these. */
export const destructiveNames: readonly string[] = [...Object.keys(destructive), 'mkfs.ext4', 'bash', 'sh', 'find']
