/** P14: measures the memory of the runtime per session that had one turn. */

import { sendMessage } from '../client.ts'
import { atMost, times, type Metric } from '../metric.ts'
import { holderOf, pssOf } from '../process.ts'
import { median } from '../stats.ts'
import type { Contender } from '../stage.ts'

const sessions = 100

const settled = async (pid: number): Promise<number> => {
  await new Promise((resolve) => setTimeout(resolve, 1500))
  return pssOf(pid)
}

const perSession = async ({ target, running }: Contender): Promise<number> => {
  await times(5, () => sendMessage(target, 'Hello. [[text 20]]'))
  const runtime = holderOf(running.pid, '/v3/do/')
  if (!runtime) throw new Error(`${target.name}: no process holds the files of the objects`)
  const before = await settled(runtime)
  await times(sessions, () => sendMessage(target, 'Hello. [[text 20]]'))
  return ((await settled(runtime)) - before) / sessions
}

/** Each round uses a new process, because the runtime does not return memory. */
export const idleMemory: Metric = {
  id: 'P14',
  what: 'memory per idle session',
  run: async (stage, { rounds, quick }) => {
    const ours: number[] = []
    const floor: number[] = []
    for (let round = 0; round < (quick ? 2 : Math.max(3, Math.ceil(rounds / 3))); round++) {
      ours.push(await perSession(await stage.restart('ours')))
      floor.push(await perSession(await stage.restart('floor')))
    }
    const note = `the floor has ${median(floor).toFixed(2)} MB`
    return [{ metric: 'P14', what: 'memory per idle session', unit: 'MB', goal: atMost(1.3), samples: ours, note }]
  },
}
