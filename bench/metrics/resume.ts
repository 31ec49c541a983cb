/** P7: measures the first turns of a session of 10 000 messages after a crash. */

import { call, json, sendMessage, turn, type Message, type Target } from '../client.ts'
import { atMost, ratioRow, type Metric, type Pair } from '../metric.ts'
import type { Stage } from '../stage.ts'

const messages = 10_000

/** About 200 characters each, 2 MB together, ending with an answer. */
const history = (): Message[] =>
  Array.from({ length: messages }, (_, n) => ({
    role: n % 2 === 0 ? 'user' : 'assistant',
    content: `Message ${n}: ${'the quick brown fox jumps over the lazy dog, and nobody minds. '.repeat(3)}`.slice(
      0,
      200,
    ),
  }))

const window = { models: { 'openai/bench': { context_window: 4_000_000 } } }

/** Uses the import route where it exists. The floor and older builds take the history with the first turn. */
const seed = async (target: Target): Promise<string> => {
  if (target.key) {
    await call(target, 'PATCH', '/api/settings', window)
    const body = { session: { title: 'bench', settings: window }, messages: history() }
    const answer = await call(target, 'POST', '/api/sessions/import', body)
    if (answer.status === 201) return (JSON.parse(answer.text) as { id: string }).id
  }
  const { session } = await turn(target, { messages: [...history(), { role: 'user', content: 'Go on. [[text 5]]' }] })
  if (target.key) await json(target, 'PATCH', `/api/sessions/${session}`, { settings: window })
  return session
}

/** Checks by the size of the request that the model received the whole history. */
const checkSize = async (stage: Stage, target: Target): Promise<void> => {
  const bytes = (await stage.model.journal()).at(-1)?.bytes ?? 0
  if (bytes < messages * 200) throw new Error(`${target.name} sent only ${bytes} bytes of its history to the model`)
}

type Resumed = { readonly first: number; readonly second: number }

const resume = async (stage: Stage, which: 'ours' | 'floor', session: string): Promise<Resumed> => {
  const { target } = await stage.restart(which)
  // Warms the worker up, so that only the session is cold.
  await sendMessage(target, 'Hello. [[text 5]]')
  await sendMessage(target, 'Hello. [[text 5]]')
  const first = await sendMessage(target, 'And now? [[text 20]]', session)
  await checkSize(stage, target)
  const second = await sendMessage(target, 'And now? [[text 20]]', session)
  return { first: first.ttft, second: second.ttft }
}

export const resumeLong: Metric = {
  id: 'P7',
  what: 'resume of 10 000 messages',
  run: async (stage, { rounds }) => {
    const sessions = { ours: await seed((await stage.ours()).target), floor: await seed((await stage.floor()).target) }
    const first: Pair[] = []
    const second: Pair[] = []
    for (let round = 0; round < Math.max(3, Math.ceil(rounds / 2)); round++) {
      const ours = await resume(stage, 'ours', sessions.ours)
      const floor = await resume(stage, 'floor', sessions.floor)
      first.push({ ours: ours.first, floor: floor.first })
      second.push({ ours: ours.second, floor: floor.second })
    }
    const named = { metric: 'P7', absoluteUnit: 'ms' }
    return [
      ratioRow({ ...named, what: 'first turn after a crash, 10 000 messages ÷ looping floor', goal: atMost(2) }, first),
      ratioRow({ ...named, what: 'second turn, 10 000 messages ÷ looping floor', goal: atMost(1.5) }, second),
    ]
  },
}
