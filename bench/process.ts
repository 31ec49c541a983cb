/** Starts processes of the benchmark in their own groups, measures them, and kills their whole trees. */

import { spawn, type ChildProcess } from 'node:child_process'
import { readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { createServer } from 'node:net'

export type Running = {
  readonly pid: number
  readonly output: () => string
  readonly alive: () => boolean
  /** Sends SIGKILL to the whole tree, like a crash of the machine. */
  readonly kill: () => Promise<void>
}

export const freePort = (): Promise<number> =>
  new Promise((resolve) => {
    const server = createServer()
    server.listen(0, '127.0.0.1', () => {
      const address = server.address()
      server.close(() => resolve(typeof address === 'object' && address ? address.port : 0))
    })
  })

const parents = (): Map<number, number> => {
  const found = new Map<number, number>()
  for (const name of readdirSync('/proc')) {
    if (!/^\d+$/.test(name)) continue
    const parent = Number(statOf(Number(name))[1])
    if (parent) found.set(Number(name), parent)
  }
  return found
}

/** Fields of /proc/PID/stat from the state on; empty when the process is gone. */
const statOf = (pid: number): string[] => {
  try {
    return readFileSync(`/proc/${pid}/stat`, 'latin1')
      .replace(/^.*\) /s, '')
      .split(' ')
  } catch {
    return []
  }
}

/** The living processes of a tree. */
export const treeOf = (root: number): number[] => {
  const parentOf = parents()
  const tree = [root]
  for (let at = 0; at < tree.length; at++) {
    for (const [pid, parent] of parentOf) if (parent === tree[at]) tree.push(pid)
  }
  return tree
}

/** CPU time in ms of the tree, by clock ticks of 10 ms. */
export const cpuOf = (root: number): number =>
  treeOf(root).reduce((sum, pid) => {
    const fields = statOf(pid)
    return sum + (Number(fields[11] ?? 0) + Number(fields[12] ?? 0)) * 10
  }, 0)

const opens = (pid: number, part: string): boolean => {
  try {
    return readdirSync(`/proc/${pid}/fd`).some((fd) => {
      try {
        return readlinkSync(`/proc/${pid}/fd/${fd}`).includes(part)
      } catch {
        return false
      }
    })
  } catch {
    return false
  }
}

/** The process of the tree that has files open whose path holds `part`. */
export const holderOf = (root: number, part: string): number | undefined => treeOf(root).find((pid) => opens(pid, part))

/** The process of the runtime in the tree of a server. */
export const runtimeOf = (root: number): number => {
  const found = treeOf(root).find((pid) => commandOf(pid).endsWith('/workerd'))
  if (found === undefined) throw new Error('The server has no process of the runtime')
  return found
}

const commandOf = (pid: number): string => {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'latin1').split('\0')[0] ?? ''
  } catch {
    return ''
  }
}

/** Proportional set size in MB. */
export const pssOf = (pid: number): number =>
  Number(/^Pss:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/smaps_rollup`, 'latin1'))?.[1] ?? NaN) / 1024

const signal = (pid: number): void => {
  try {
    process.kill(pid, 'SIGKILL')
  } catch {
    // The process has already ended.
  }
}

const started = new Set<ChildProcess>()

export type StartOptions = { readonly cwd: string; readonly env: Readonly<Record<string, string>> }

export const start = (command: readonly string[], { cwd, env }: StartOptions): Running => {
  const [program = '', ...rest] = command
  const child = spawn(program, rest, {
    cwd,
    env: { ...process.env, ...env },
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  started.add(child)
  let output = ''
  const keep = (part: Buffer): void => {
    output = (output + part.toString()).slice(-20_000)
  }
  child.stdout.on('data', keep)
  child.stderr.on('data', keep)
  const gone = new Promise<void>((resolve) => child.once('exit', () => resolve()))
  const pid = child.pid ?? 0
  return {
    pid,
    output: () => output,
    alive: () => child.exitCode === null && child.signalCode === null,
    kill: async () => {
      const tree = treeOf(pid)
      for (const member of [-pid, ...tree]) signal(member)
      if (pid) await gone
      started.delete(child)
    },
  }
}

/** Kills all started processes when the benchmark ends for any reason. */
const endAll = (): void => {
  for (const { pid } of started) if (pid) for (const member of [...treeOf(pid), -pid]) signal(member)
  started.clear()
}
process.on('exit', endAll)
for (const name of ['SIGINT', 'SIGTERM'] as const) process.on(name, () => process.exit(130))

/** The TCP ports on which the processes of a tree listen at loopback. */
export const listeningPorts = (root: number): number[] => {
  const listening = new Map<string, number>()
  for (const line of readFileSync('/proc/net/tcp', 'latin1').split('\n').slice(1)) {
    const [, local = '', , state, , , , , , inode = ''] = line.trim().split(/\s+/)
    if (state === '0A') listening.set(`socket:[${inode}]`, Number.parseInt(local.split(':')[1] ?? '', 16))
  }
  const links = treeOf(root).flatMap((pid) => {
    try {
      return readdirSync(`/proc/${pid}/fd`).flatMap((fd) => linkOf(`/proc/${pid}/fd/${fd}`))
    } catch {
      return []
    }
  })
  return [...new Set(links.flatMap((link) => listening.get(link) ?? []))]
}

/** A descriptor may be closed meanwhile. */
const linkOf = (path: string): string[] => {
  try {
    return [readlinkSync(path)]
  } catch {
    return []
  }
}
