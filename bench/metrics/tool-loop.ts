/** P3 and P4: measure the overhead of a step of a tool loop, and its growth over a long turn. */

import { json, sendMessage, TurnFailed, type Target } from '../client.ts'
import { atMost, nonce, pairs, ratioRow, times, type Metric, type Row } from '../metric.ts'
import { gapsOf, stepsOf, type Model } from '../model.ts'
import { median } from '../stats.ts'

type Loop = { readonly gaps: readonly number[]; readonly total: number }

/** `tool`: the cheapest of ours unless another one is named. */
type Steps = { readonly steps: number; readonly tool?: string; readonly input?: object }

export const loopOf = async (
  model: Model,
  target: Target,
  { steps, tool = 'todo', input = {} }: Steps,
  session?: string,
): Promise<Loop> => {
  const key = nonce()
  const calls = `[[tools ${steps} ${tool} ${JSON.stringify(input)} nonce=${key}]]`
  const { total } = await sendMessage(target, calls, session)
  const asked = await stepsOf(model, key)
  if (asked.length !== steps + 1)
    throw new TurnFailed(`${target.name} asked the model ${asked.length} times in a turn of ${steps} tool steps`)
  return { gaps: gapsOf(asked), total }
}

export const perStep: Metric = {
  id: 'P3',
  what: 'overhead of a tool step',
  run: async (stage, { rounds }) => {
    const { target } = await stage.ours()
    const { target: floor } = await stage.floor()
    const gapOf = async (contender: Target): Promise<number> => {
      await stage.model.reset()
      const { session } = await sendMessage(contender, 'Hello. [[text 5]]')
      const loops = await times(3, () => loopOf(stage.model, contender, { steps: 20 }, session))
      return median(loops.flatMap((loop) => loop.gaps))
    }
    const found = await pairs(
      rounds,
      () => gapOf(target),
      () => gapOf(floor),
    )
    const what = 'overhead of a tool step (20 steps) ÷ looping floor'
    return [ratioRow({ metric: 'P3', what, goal: atMost(2.5), absoluteUnit: 'ms' }, found)]
  },
}

/** A session whose budget allows 500 steps. Only Talaria has a budget. */
const roomySession = async (target: Target): Promise<string> => {
  if (!target.key) return nonce()
  const settings = { agent: { max_turns: 600 }, models: { 'openai/bench': { context_window: 4_000_000 } } }
  return (await json<{ id: string }>(target, 'POST', '/api/sessions', { settings })).id
}

const growthOf = ({ gaps }: Loop): number => median(gaps.slice(-10)) / median(gaps.slice(0, 10))

export const longTurn: Metric = {
  id: 'P4',
  what: 'a turn of 500 steps',
  run: async (stage, { rounds, quick }) => {
    const { target } = await stage.ours()
    const { target: floor } = await stage.floor()
    const loops = { ours: [] as Loop[], floor: [] as Loop[] }
    const run = async (contender: Target, into: Loop[]): Promise<number> => {
      await stage.model.reset()
      const loop = await loopOf(stage.model, contender, { steps: 500 }, await roomySession(contender))
      into.push(loop)
      return loop.total
    }
    await pairs(
      quick ? Math.min(rounds, 6) : rounds,
      () => run(target, loops.ours),
      () => run(floor, loops.floor),
    )
    // The first round was the warm-up.
    const [ours, theirs] = [loops.ours.slice(1), loops.floor.slice(1)]
    const seconds = (loop: Loop): number => loop.total / 1000
    const growth: Row = {
      metric: 'P4',
      what: 'growth of a step, last ten ÷ first ten of 500',
      unit: '×',
      goal: atMost(1.2),
      samples: ours.map(growthOf),
      note: `the floor grows ${median(theirs.map(growthOf)).toFixed(2)}`,
    }
    const total: Row = {
      metric: 'P4',
      what: 'a turn of 500 steps',
      unit: 's',
      goal: atMost(2),
      samples: ours.map(seconds),
      note: `the floor takes ${median(theirs.map(seconds)).toFixed(2)} s`,
    }
    return [growth, total]
  },
}
