/** Finds and kills the processes of a started server by their process group. */

import { execFileSync } from 'node:child_process'
import { existsSync, readdirSync, readlinkSync } from 'node:fs'

/** Returns false when the group has no processes left. Signal 0 only checks. */
export function killGroup(group: number, signal: NodeJS.Signals | 0): boolean {
  try {
    process.kill(-group, signal)
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ESRCH') return false
    throw error
  }
}

/** The runtimes of a process group. wrangler runs one of its own beside that of the worker. */
export function runtimesOf(group: number): number[] {
  const processes = execFileSync('ps', ['-A', '-o', 'pid=,pgid=,args='], { encoding: 'utf8', maxBuffer: 64 << 20 })
  return processes
    .split('\n')
    .map((line) => /^\s*(\d+)\s+(\d+)\s+(.*)$/.exec(line))
    .filter((match) => Number(match?.[2]) === group && /workerd\S* serve/.test(match?.[3] ?? ''))
    .map((match) => Number(match?.[1]))
}

/** Returns the runtime process that has the databases of the objects open. */
export function runtimeOf(group: number, state: string): number {
  const runtimes = runtimesOf(group)
  const holder = runtimes.find((pid) => holds(pid, state)) ?? runtimes[0]
  if (holder === undefined) throw new Error('There is no workerd in this process group')
  return holder
}

function holds(pid: number, folder: string): boolean {
  const open = `/proc/${pid}/fd`
  if (!existsSync(open)) return false
  return readdirSync(open).some((descriptor) => {
    try {
      return readlinkSync(`${open}/${descriptor}`).startsWith(`${folder}/v3/do`)
    } catch {
      // The descriptor was closed between the two calls.
      return false
    }
  })
}
