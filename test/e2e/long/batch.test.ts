/** Tests a batch of 200 prompts whose server is killed ten times: each has one result, within the budget. */

import { setTimeout as delay } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { eventually } from '../support/client.ts'
import { clientTo, kill, model, start } from '../support/killed-turns.ts'
import { randomOf } from '../../agent/shell-policy/mutations.ts'

const count = 200
const kills = 10
const budgetUsd = 60
const outputTokens = 10
const prices = { input: 10, output: 100, cached_read: 10 }
/** What the provider bills for an answer: a quarter of the bytes of the request, and the output. */
const billOf = (bytes: number): number =>
  (Math.ceil(bytes / 4) * prices.input + outputTokens * prices.output) / 1_000_000

type Line = {
  readonly n: number
  readonly status: string
  readonly output: string
  readonly session_id: string
  readonly cost_usd: number
}

it('survives ten kills: each result once, cost within its budget to the cent', async () => {
  const seed = Number(process.env['SEED'] ?? Date.now() % 1_000_000)
  console.log(`seed ${seed}`)
  const random = randomOf(seed)
  model.reset()
  model.script(({ text }) => ({
    text: `answer ${/prompt (\d+)/.exec(text)?.[1]}`,
    ttft: 60,
    gap: 1,
    usage: { completion: outputTokens },
  }))
  let server = await start()
  const first = clientTo(server)
  const limits = { unattended_turns_per_hour: 10_000, unattended_usd_per_day: 1_000 }
  await first.send('PATCH', '/api/settings', { body: { limits, models: { 'openai/bench': { prices } } } })
  const prompts = Array.from({ length: count }, (_, n) => ({ prompt: `prompt ${n + 1}` }))
  const made = await first.post('/api/batches', {
    prompts,
    concurrency: 8,
    budget_usd: budgetUsd,
    max_output_tokens: 50,
  })
  expect(made.status, made.text).toBe(201)
  const path = `/api/batches/${made.json.id}`
  for (let n = 0; n < kills; n++) {
    await delay(300 + random(1_500))
    await kill(server)
    server = await start()
    const { json: batch } = await clientTo(server).get(path)
    expect(batch.spent_usd + batch.held_usd).toBeLessThanOrEqual(budgetUsd + 1e-9)
  }
  const client = clientTo(server)
  const ended = await eventually(
    async () => (await client.get(path)).json,
    (batch) => batch?.status !== 'running',
    240_000,
  )
  expect(ended).toMatchObject({ status: 'completed', counts: { completed: count, failed: 0, pending: 0 } })
  const { text } = await client.get(`${path}/results`)
  const lines = text
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line) as Line)
  expect(lines.map(({ n, output }) => [n, output])).toEqual(prompts.map((_, n) => [n + 1, `answer ${n + 1}`]))
  expect(new Set(lines.map((line) => line.session_id)).size).toBe(count)
  expect(ended.spent_usd).toBeLessThanOrEqual(budgetUsd)
  expect(ended.spent_usd).toBeCloseTo(
    lines.reduce((sum, line) => sum + line.cost_usd, 0),
    6,
  )
  // What the provider has answered, cut answers included, is within the budget too.
  const billed = model
    .journal()
    .filter(({ status }) => status === 200)
    .reduce((sum, { bytes }) => sum + billOf(bytes), 0)
  console.log(`spent $${ended.spent_usd.toFixed(4)}, provider at most $${billed.toFixed(4)}, budget $${budgetUsd}`)
  expect(billed).toBeLessThanOrEqual(budgetUsd)
  for (const { session_id: session } of lines.slice(0, 20)) {
    const messages = await client.messages(session)
    expect(messages.map(({ role }) => role)).toEqual(['user', 'assistant'])
  }
  await kill(server)
}, 600_000)
