// Limits memory, processes and CPU time of a workspace with control groups: version 2, or version 1 where the kernel
// has only that. One group per workspace.

import { existsSync, mkdirSync, readFileSync, readdirSync, rmdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const period = 100_000
const prefix = 'talaria-'

/** Undefined when this process is not allowed to create groups. */
export function openCgroups(limits, mount = '/sys/fs/cgroup') {
  return version2(limits, mount) ?? version1(limits, mount)
}

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

function version2(limits, mount) {
  try {
    if (!existsSync(join(mount, 'cgroup.controllers'))) return undefined
    const base = join(mount, ownGroups().get('') ?? '/')
    // A group with child controllers must have no processes of its own, so the server moves into a child group.
    const own = join(base, `${prefix}server`)
    mkdirSync(own, { recursive: true })
    writeFileSync(join(own, 'cgroup.procs'), String(process.pid))
    writeFileSync(join(base, 'cgroup.subtree_control'), '+memory +pids +cpu')
    const set = (folder) => {
      write(folder, 'memory.max', limits.MEMORY_BYTES)
      writeIfThere(folder, 'memory.swap.max', 0)
      write(folder, 'pids.max', limits.PROCESSES)
      write(folder, 'cpu.max', `${(limits.CPU_PERCENT * period) / 100} ${period}`)
    }
    return groups({ level: 'cgroup2', bases: [base], set: [set] })
  } catch {
    return undefined // for example in a container without delegation, or without write access
  }
}

function version1(limits, mount) {
  const settings = {
    memory: (folder) => {
      write(folder, 'memory.limit_in_bytes', limits.MEMORY_BYTES)
      writeIfThere(folder, 'memory.memsw.limit_in_bytes', limits.MEMORY_BYTES)
    },
    pids: (folder) => write(folder, 'pids.max', limits.PROCESSES),
    cpu: (folder) => {
      write(folder, 'cpu.cfs_period_us', period)
      write(folder, 'cpu.cfs_quota_us', (limits.CPU_PERCENT * period) / 100)
    },
  }
  try {
    const own = ownGroups()
    const names = Object.keys(settings)
    const bases = names.map((name) => {
      const below = join(mount, name, own.get(name) ?? '/')
      return existsSync(below) ? below : join(mount, name)
    })
    return groups({ level: 'cgroup1', bases, set: Object.values(settings) })
  } catch {
    return undefined
  }
}

function groups({ level, bases, set }) {
  const folders = (name) => bases.map((base) => join(base, prefix + name))

  /** Creates the groups of a workspace and returns the files into which a process writes its id to join them. */
  function enter(name) {
    folders(name).forEach((folder, i) => {
      mkdirSync(folder, { recursive: true })
      set[i](folder)
    })
    return folders(name).map((folder) => join(folder, 'cgroup.procs'))
  }

  const isEmpty = (folder) => readFileSync(join(folder, 'cgroup.procs'), 'utf8').trim() === ''

  /** Removes empty groups. Groups with jobs of an earlier server stay until the jobs end. */
  function sweep() {
    for (const base of bases)
      for (const name of readdirSync(base))
        if (name.startsWith(prefix) && name !== `${prefix}server`) removeEmpty(join(base, name))
  }

  function removeEmpty(folder) {
    try {
      if (isEmpty(folder)) rmdirSync(folder)
    } catch {
      // a process joined at this moment, or the group is already removed
    }
  }

  // Fails now if any of this is not allowed.
  enter(`probe-${process.pid}`)
  for (const folder of folders(`probe-${process.pid}`)) rmdirSync(folder)
  return { level, enter, sweep }
}

const write = (folder, name, value) => writeFileSync(join(folder, name), String(value))

/** Not every kernel accounts for swap. */
function writeIfThere(folder, name, value) {
  if (existsSync(join(folder, name))) write(folder, name, value)
}
