/** P15: measures a program of the model, run in a fresh isolate, and each tool call that it makes. */

import { call, sendMessage, TurnFailed, type Target } from '../client.ts'
import { atMost, nonce, times, type Metric, type Row } from '../metric.ts'
import { gapsOf, stepsOf, type Model } from '../model.ts'
import { median } from '../stats.ts'
import { toolResults } from '../tool-results.ts'

const steps = 10
const callsPerProgram = 40

const empty = '1 + 1'
const calling = `for (let n = 0; n < ${callsPerProgram}; n++) await read_file({ path: 'small.txt' })`

/** Times of a step that only runs this program, from the end of the model reply to the complete next request. */
const stepOf = async (model: Model, target: Target, source: string, session: string): Promise<number> => {
  const key = nonce()
  await sendMessage(target, `[[tools ${steps} execute_code ${JSON.stringify({ code: source })} nonce=${key}]]`, session)
  const asked = await stepsOf(model, key)
  if (asked.length !== steps + 1) throw new TurnFailed(`asked ${asked.length} times in a turn of ${steps} programs`)
  return median(gapsOf(asked))
}

/** Checks the results, because a program that fails is fast. */
const allSucceeded = async (target: Target, session: string, calls: number): Promise<void> => {
  const results = await toolResults(target, session)
  const good = results.filter(
    (text) => text.includes('"status":"success"') && text.includes(`"tool_calls_made":${calls},`),
  )
  if (!results.length || good.length !== results.length)
    throw new TurnFailed(`programs failed: ${results.find((text) => !good.includes(text)) ?? 'no results'}`)
}

export const programs: Metric = {
  id: 'P15',
  what: 'programs of the model',
  run: async (stage, { rounds, quick }) => {
    const { target } = await stage.ours()
    const sample = async () => {
      await stage.model.reset()
      const measured = async (source: string, calls: number): Promise<number> => {
        const { session } = await sendMessage(target, 'Hello. [[text 5]]')
        await call(target, 'PUT', `/api/sessions/${session}/files/small.txt`, 'a line')
        const step = await stepOf(stage.model, target, source, session)
        await allSucceeded(target, session, calls)
        return step
      }
      const fresh = await measured(empty, 0)
      return { fresh, perCall: ((await measured(calling, callsPerProgram)) - fresh) / callsPerProgram }
    }
    const found = (await times(1 + (quick ? Math.min(rounds, 5) : rounds), sample)).slice(1)
    const row = (what: string, goal: number, samples: readonly number[]): Row => ({
      metric: 'P15',
      what,
      unit: 'ms',
      goal: atMost(goal),
      samples,
    })
    return [
      row(
        'a step that runs a program, fresh isolate and step included',
        30,
        found.map(({ fresh }) => fresh),
      ),
      row(
        `a call of a program (${callsPerProgram} × read_file)`,
        1,
        found.map(({ perCall }) => perCall),
      ),
    ]
  },
}
