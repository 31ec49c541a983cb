/** P1 and P2: measure the time to the first word, compared with a bare proxy. */

import { sendMessage, type Target } from '../client.ts'
import { atMost, pairs, ratioRow, times, type Metric } from '../metric.ts'
import { median } from '../stats.ts'

const prompt = 'Hello there. [[text 20]]'
const perRound = 11

export const ttftOf = async (target: Target, session?: string): Promise<number> =>
  median((await times(perRound, () => sendMessage(target, prompt, session))).map((turn) => turn.ttft))

/** A session that has had a turn: its object is in memory and has its prompt. */
export const warmSession = async (target: Target): Promise<string> => {
  const { session } = await sendMessage(target, prompt)
  await sendMessage(target, prompt, session)
  return session
}

export const warm: Metric = {
  id: 'P1',
  what: 'first word, warm session',
  run: async (stage, { rounds }) => {
    const { target } = await stage.ours()
    const { target: loop } = await stage.floor()
    const proxy = await stage.proxy()
    const named = { metric: 'P1', goal: atMost(2), absoluteUnit: 'ms' }
    const ours = await pairs(
      rounds,
      async () => ttftOf(target, await warmSession(target)),
      () => ttftOf(proxy),
    )
    const floor = await pairs(
      Math.ceil(rounds / 4),
      async () => ttftOf(loop, await warmSession(loop)),
      () => ttftOf(proxy),
    )
    const note = `the looping floor has ${median(floor.map((pair) => pair.ours / pair.floor)).toFixed(2)}`
    return [ratioRow({ ...named, what: 'first word of a warm session ÷ bare proxy', note }, ours)]
  },
}

export const brandNew: Metric = {
  id: 'P2',
  what: 'first word, new session',
  run: async (stage, { rounds }) => {
    const { target } = await stage.ours()
    const proxy = await stage.proxy()
    const found = await pairs(
      rounds,
      () => ttftOf(target),
      () => ttftOf(proxy),
    )
    const what = 'first word of a new session ÷ bare proxy'
    return [ratioRow({ metric: 'P2', what, goal: atMost(2.5), absoluteUnit: 'ms' }, found)]
  },
}
