// Limits memory, processes and CPU time with control groups: version 2, or version 1 where the kernel has only that. One
// group holds everything that the server runs, with one group per tenant inside, and one per workspace inside of that.
// Tenants have the same weight, so busy ones share the processors equally.

import {
  existsSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  rmdirSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'

const period = 100_000
const prefix = 'talaria-'
/** A process joins its group within this time. Until then an empty group stays, also for other servers of this host. */
const minAgeMs = 30_000

/** Undefined when this process is not allowed to create groups. `removeGroup` removes an empty group. */
export function openCgroups(limits, { mount = '/sys/fs/cgroup', removeGroup = rmdirSync, now = Date.now } = {}) {
  const options = { limits, mount, removeGroup, now }
  return version2(options) ?? version1(options)
}

/** The limits of the three levels. A level without a value has none. */
const levelsOf = (limits) => [
  { memory: limits.ALL_MEMORY_BYTES },
  { memory: limits.TENANT_MEMORY_BYTES, weight: 100 },
  { memory: limits.MEMORY_BYTES, processes: limits.PROCESSES, cpu: limits.CPU_PERCENT },
]

/** Reads our own group per controller from lines like `4:memory:/a/b` and `0::/a/b`. */
function ownGroups() {
  const lines = readFileSync('/proc/self/cgroup', 'utf8').trim().split('\n')
  return new Map(
    lines.flatMap((line) => {
      const [, controllers, path] = /^\d+:([^:]*):(.*)$/.exec(line) ?? []
      return (controllers ?? '').split(',').map((name) => [name, path])
    }),
  )
}

function version2({ limits, mount, ...options }) {
  try {
    if (!existsSync(join(mount, 'cgroup.controllers'))) return undefined
    const base = join(mount, ownGroups().get('') ?? '/')
    // A group with child controllers must have no processes of its own, so the server moves into a child group.
    const own = join(base, `${prefix}server`)
    mkdirSync(own, { recursive: true })
    writeFileSync(join(own, 'cgroup.procs'), String(process.pid))
    writeFileSync(join(base, 'cgroup.subtree_control'), '+memory +pids +cpu')
    const set = (folder, { memory, processes, cpu, weight }) => {
      write(folder, 'memory.max', memory)
      writeIfThere(folder, 'memory.swap.max', 0)
      if (processes) write(folder, 'pids.max', processes)
      if (cpu) write(folder, 'cpu.max', `${(cpu * period) / 100} ${period}`)
      if (weight) write(folder, 'cpu.weight', weight)
      // The group of a workspace has processes, so it can have no controlled groups below.
      if (!processes) write(folder, 'cgroup.subtree_control', '+memory +pids +cpu')
    }
    const names = { level: 'cgroup2', eventsFile: 'memory.events' }
    return groups({ ...names, bases: [base], set: [set], levels: levelsOf(limits), ...options })
  } catch {
    return undefined // for example in a container without delegation, or without write access
  }
}

function version1({ limits, mount, ...options }) {
  const settings = {
    memory: (folder, { memory }) => {
      writeIfThere(folder, 'memory.use_hierarchy', 1)
      write(folder, 'memory.limit_in_bytes', memory)
      writeIfThere(folder, 'memory.memsw.limit_in_bytes', memory)
    },
    pids: (folder, { processes }) => processes && write(folder, 'pids.max', processes),
    cpu: (folder, { cpu, weight }) => {
      if (weight) write(folder, 'cpu.shares', weight * 10)
      if (!cpu) return
      write(folder, 'cpu.cfs_period_us', period)
      write(folder, 'cpu.cfs_quota_us', (cpu * period) / 100)
    },
  }
  try {
    const own = ownGroups()
    const names = Object.keys(settings)
    const bases = names.map((name) => {
      const below = join(mount, name, own.get(name) ?? '/')
      return existsSync(below) ? below : join(mount, name)
    })
    return groups({
      level: 'cgroup1',
      eventsFile: 'memory.oom_control',
      bases,
      set: Object.values(settings),
      levels: levelsOf(limits),
      ...options,
    })
  } catch {
    return undefined
  }
}

function groups({ level, bases, set, levels, removeGroup, now, eventsFile }) {
  /** The path of the group of a workspace, from the outermost group on. */
  const pathOf = (name, tenant) => [`${prefix}sandboxes`, prefix + tenant, prefix + name]

  /** Creates the groups of a workspace and returns the files into which a process writes its id to join them. */
  function enter(name, tenant = name) {
    return bases.map((base, i) => {
      let folder = base
      for (const [depth, part] of pathOf(name, tenant).entries()) {
        folder = join(folder, part)
        mkdirSync(folder, { recursive: true })
        markUsed(folder)
        set[i](folder, levels[depth])
      }
      return join(folder, 'cgroup.procs')
    })
  }

  /** The file of a workspace with the number of processes that were killed for lack of memory. */
  const memoryEvents = (name, tenant = name) => join(bases[0], ...pathOf(name, tenant), eventsFile)

  function markUsed(folder) {
    const seconds = now() / 1_000
    utimesSync(folder, seconds, seconds)
  }

  const isOld = (folder) => now() - statSync(folder).mtimeMs > minAgeMs
  const isEmpty = (folder) => readFileSync(join(folder, 'cgroup.procs'), 'utf8').trim() === ''

  /** Removes empty groups. Groups with jobs of an earlier server stay until the jobs end. */
  function sweep() {
    for (const base of bases) removeEmptyBelow(base)
  }

  function removeEmptyBelow(folder) {
    for (const entry of readdirSync(folder, { withFileTypes: true })) {
      const { name } = entry
      if (!entry.isDirectory() || !name.startsWith(prefix) || name === `${prefix}server`) continue
      removeEmptyBelow(join(folder, name))
      removeEmpty(join(folder, name))
    }
  }

  function removeEmpty(folder) {
    try {
      if (isOld(folder) && isEmpty(folder)) removeGroup(folder)
    } catch {
      // a process joined at this moment, a group inside has one, or the group is already removed
    }
  }

  // Fails now if any of this is not allowed.
  for (const file of enter(`probe-${process.pid}`)) removeGroup(dirname(file))
  return { level, enter, sweep, memoryEvents }
}

const write = (folder, name, value) => writeFileSync(join(folder, name), String(value))

/** Not every kernel accounts for swap. */
function writeIfThere(folder, name, value) {
  if (existsSync(join(folder, name))) write(folder, name, value)
}
