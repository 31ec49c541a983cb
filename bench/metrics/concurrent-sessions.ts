/** P5 and P6: measure many concurrent sessions, with an instant model and with one as slow as real models. */

import { sendMessage, type Target } from '../client.ts'
import { atLeast, atMost, pairs, ratioRow, together, times, type Metric, type Row } from '../metric.ts'
import { cpuOf } from '../process.ts'
import { median } from '../stats.ts'
import type { Contender } from '../stage.ts'

const lanes = 64
const turnsPerLane = 3

type Throughput = { readonly perSecond: number; readonly cpu: number }

const measureThroughput = async ({ target, running }: Contender): Promise<Throughput> => {
  const turns = lanes * turnsPerLane
  const cpu = cpuOf(running.pid)
  const began = performance.now()
  await together(lanes, () => times(turnsPerLane, () => sendMessage(target, 'Hello there. [[text 20]]')))
  const took = performance.now() - began
  return { perSecond: (turns / took) * 1000, cpu: (cpuOf(running.pid) - cpu) / turns }
}

export const throughput: Metric = {
  id: 'P5',
  what: 'turns per second',
  run: async (stage, { rounds }) => {
    const [ours, floor] = [await stage.ours(), await stage.floor()]
    const cpu = { ours: [] as number[], floor: [] as number[] }
    const run = async (contender: Contender, into: number[]): Promise<number> => {
      const found = await measureThroughput(contender)
      into.push(found.cpu)
      return found.perSecond
    }
    const found = await pairs(
      rounds,
      () => run(ours, cpu.ours),
      () => run(floor, cpu.floor),
    )
    const cpuRow: Row = {
      metric: 'P5',
      what: 'CPU of the process tree per turn',
      unit: 'ms',
      goal: atMost(15),
      samples: cpu.ours.slice(1),
      note: `the floor needs ${median(cpu.floor.slice(1)).toFixed(1)} ms`,
    }
    const what = `turns/s, ${lanes} at once, each a new session ÷ looping floor`
    return [ratioRow({ metric: 'P5', what, goal: atLeast(0.5), absoluteUnit: 'turns/s' }, found), cpuRow]
  },
}

const [ttft, chunks, gap] = [300, 50, 20]
/** Duration of the answer without anything between model and client. */
const nominal = ttft + (chunks - 1) * gap

const addedDelay = async (target: Target, sessions: number): Promise<number> => {
  const prompt = `[[slow ttft=${ttft} chunks=${chunks} gap=${gap}]]`
  return median((await together(sessions, () => sendMessage(target, prompt))).map((turn) => turn.total)) - nominal
}

export const slowStream: Metric = {
  id: 'P6',
  what: 'delay added to real streams',
  run: async (stage, { rounds }) => {
    const { target } = await stage.ours()
    const { target: floor } = await stage.floor()
    const rows: Row[] = []
    for (const { sessions, goal } of [
      { sessions: 64, goal: 2.2 },
      { sessions: 256, goal: 1.5 },
    ]) {
      const found = await pairs(
        rounds,
        () => addedDelay(target, sessions),
        () => addedDelay(floor, sessions),
      )
      const what = `delay added to ${sessions} real streams (1.3 s) ÷ looping floor`
      rows.push(ratioRow({ metric: 'P6', what, goal: atMost(goal), absoluteUnit: 'ms' }, found))
    }
    return rows
  },
}
