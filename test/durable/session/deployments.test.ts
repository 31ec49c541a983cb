/**
 * Resets all objects at once again and again, as deployments do, while clients talk: every turn is answered, once, and no
 * client gets anything but its answer or an error that it may retry. `DEPLOYED_TURNS` is the number of turns, and above
 * 30 a reset comes every two seconds; `npm run chaos` has 500.
 */

import { abortAllDurableObjects } from 'cloudflare:test'
import { env } from 'cloudflare:workers'
import { beforeAll, expect, it } from 'vitest'
import { Gate, type ModelRequest, model, says } from '#test/support/scripted-model.ts'
import { applyMigrations, call } from '#test/worker/client.ts'

beforeAll(applyMigrations)

const { DEPLOYED_TURNS = '24' } = env as unknown as Readonly<Record<string, string | undefined>>
const turns = Number(DEPLOYED_TURNS)
const sessions = 8
/** On an idle machine much longer than an answer: a turn is given up when its object dies three times without progress. */
const leastResetMs = turns > 30 ? 2_000 : 1_000
const answerMs = 300

type Said = { readonly data: readonly { readonly role: string; readonly content: string | null }[] }
type Outcome = { readonly output?: string }

const answerDelayMs = () => answerMs * (0.5 + Math.random())

/** Answers after a while, so that resets meet running turns. */
function answerSlowly(asked: ModelRequest) {
  const gate = new Gate()
  setTimeout(gate.open, answerDelayMs())
  return says(gate, `heard ${lastWords(asked)}`)
}

const lastWords = ({ messages }: ModelRequest) => JSON.stringify(messages.at(-1)?.content)

let interrupted = 0

/** Twice what turns take that nothing disturbs, of three rounds the fastest: the first one loads the code. */
async function measureResetMs(modelId: string): Promise<number> {
  const turn = async () => {
    const { body } = await call<{ id: string }>('POST', '/api/sessions', { body: { model: modelId } })
    await talk(body.id, `first-${body.id}`)
  }
  const rounds: number[] = []
  for (let round = 0; round < 3; round++) {
    const began = performance.now()
    await Promise.all(Array.from({ length: sessions }, turn))
    rounds.push(performance.now() - began)
  }
  return Math.max(leastResetMs, 2 * Math.min(...rounds))
}

/** Sends a turn as clients do: an error 503 is retried with the same key. */
async function talk(session: string, words: string): Promise<string | undefined> {
  for (let attempt = 1; attempt <= 20; attempt++) {
    const answer = await call<Outcome>('POST', `/api/sessions/${session}/chat`, {
      body: { input: words },
      headers: { 'idempotency-key': `key-${words}` },
    }).catch((error: unknown) => error as Error)
    if (answer instanceof Error) throw answer
    if (answer.status === 200) return answer.body.output
    if (answer.status !== 503 || answer.headers.get('retry-after') === null)
      throw new Error(`${answer.status} ${JSON.stringify(answer.body)}`)
    interrupted++
    await scheduler.wait(100 * attempt)
  }
  return undefined
}

it(
  `loses and repeats none of ${turns} turns`,
  async () => {
    const slow = model(answerSlowly)
    const ids: string[] = []
    for (let n = 0; n < sessions; n++)
      ids.push((await call<{ id: string }>('POST', '/api/sessions', { body: { model: slow.id } })).body.id)
    const resetEveryMs = await measureResetMs(slow.id)
    const over = new AbortController()
    let resets = 0
    const deploy = async () => {
      while (!over.signal.aborted) {
        await scheduler.wait(resetEveryMs)
        await abortAllDurableObjects()
        resets++
      }
    }
    const outputs: (string | undefined)[] = []
    const converse = async (session: string, first: number) => {
      for (let n = first; n < turns; n += sessions) {
        await scheduler.wait(answerDelayMs())
        outputs[n] = await talk(session, `words-${n}`)
      }
    }
    const deploying = deploy()
    await Promise.all(ids.map(converse))
    over.abort()
    await deploying
    expect(resets).toBeGreaterThan(0)
    console.log(
      `${turns} turns, ${resets} resets of all objects, one in ${resetEveryMs.toFixed(0)} ms, ${interrupted} answers with 503`,
    )
    expect(outputs.map((output, n) => output?.includes(`words-${n}`) ?? false)).toEqual(outputs.map(() => true))
    for (const [n, id] of ids.entries()) await expectOnce(id, n)
  },
  turns * 2_000 + 60_000,
)

async function expectOnce(id: string, first: number) {
  const { data } = (await call<Said>('GET', `/api/sessions/${id}/messages?limit=200`)).body
  const asked = data.filter(({ role }) => role === 'user').map(({ content }) => content)
  const expected = Array.from(
    { length: Math.ceil((turns - first) / sessions) },
    (_, n) => `words-${first + n * sessions}`,
  )
  expect(asked).toEqual(expected)
  expect(data.filter(({ role }) => role === 'assistant')).toHaveLength(expected.length)
}
