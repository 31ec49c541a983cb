/**
 * Measures the search by meaning beside the search by words, on a small corpus of one tenant. The model is a stand-in
 * that knows synonyms: the test holds the fusion of both lists, not the quality of a real model.
 */

import { runDurableObjectAlarm } from 'cloudflare:test'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { replaceClock } from '#durable/platform/clock.ts'
import { forgetSnapshot } from '#durable/tenant/tenant-snapshot.ts'
import { answerRequests } from '../support/answered-requests.ts'
import { createSkippingClock } from '../support/clock.ts'
import { until } from '../support/scripted-model.ts'
import { applyMigrations, bindings, call, newTenant } from './client.ts'

/** What was said, a question with a word of it, and one with synonyms alone. */
const facts: readonly (readonly [said: string, worded: string, meant: string])[] = [
  ['I sold my automobile to a neighbour', 'who bought the automobile?', 'who purchased the car?'],
  ['The physician told me to rest', 'advice of the physician', 'which advice had the doctor?'],
  ['The invoice of the plumber is overdue', 'plumber invoice', 'unpaid bill'],
  ['Our ship left the harbour at dawn', 'when did the ship leave?', 'departure of the boat'],
  ['My spouse bakes bread on Sundays', 'bread on Sundays', 'weekend hobby of the wife'],
  ['The children adopted a puppy', 'puppy', 'which dog lives with the kids?'],
  ['We moved to a flat in Lisbon', 'flat in Lisbon', 'apartment in Portugal'],
  ['The lawyer read the contract', 'contract and lawyer', 'agreement checked by the attorney'],
  ['The film about volcanoes was gripping', 'film about volcanoes', 'movie about lava'],
  ['The job interview went badly', 'job interview', 'position and employer'],
  ['I broke my leg on the stairs', 'broken leg', 'injury and fracture'],
  ['She won the chess tournament', 'chess tournament', 'champion of a board game'],
  ['The laptop overheats while charging', 'laptop overheats', 'computer gets hot'],
  ['The garden needs water in July', 'garden in July', 'plants in summer'],
  ['The rent goes up next year', 'rent next year', 'landlord wants more money'],
  ['My flight to Oslo was delayed', 'flight to Oslo', 'late plane to Norway'],
  ['Grandfather fought in the war', 'grandfather in the war', 'grandpa as a soldier'],
  ['The cafeteria serves lentil soup', 'lentil soup', 'lunch at the canteen'],
  ['The teacher praised the essay', 'essay and teacher', 'professor liked the paper'],
  ['The thief took her wallet', 'wallet and thief', 'robbery of a purse'],
]

/** Words of a line mean the same. */
const synonyms = [
  'automobile car vehicle',
  'sold bought purchased',
  'physician doctor',
  'rest advice',
  'invoice bill',
  'overdue unpaid',
  'ship boat',
  'left leave departure',
  'spouse wife',
  'sundays weekend',
  'children kids',
  'puppy dog',
  'flat apartment',
  'lisbon portugal',
  'lawyer attorney',
  'contract agreement',
  'film movie',
  'volcanoes lava',
  'job position',
  'interview employer',
  'broke broken fracture',
  'leg injury',
  'won champion',
  'chess board game',
  'laptop computer',
  'overheats hot',
  'garden plants',
  'july summer',
  'rent landlord',
  'goes up more money',
  'flight plane',
  'oslo norway',
  'delayed late',
  'grandfather grandpa',
  'war soldier fought',
  'cafeteria canteen',
  'soup lunch',
  'teacher professor',
  'essay paper',
  'thief robbery',
  'wallet purse',
].map((line) => new Set(line.split(' ')))

/** Every other word is a little noise in one of a few dimensions, as in a model that compares all texts with each other. */
const noiseDimensions = 16
const noise = 0.3
function embedText(text: string): readonly number[] {
  const vector = Array.from({ length: synonyms.length + noiseDimensions }, () => 0)
  for (const word of text.toLowerCase().match(/\p{L}+/gu) ?? []) {
    const at = synonyms.findIndex((words) => words.has(word))
    const hash = [...word].reduce((sum, char) => sum * 31 + (char.codePointAt(0) ?? 0), 7)
    if (at >= 0) vector[at] = 1
    else vector[synonyms.length + (hash % noiseDimensions)]! += noise
  }
  return vector
}

let clock: ReturnType<typeof createSkippingClock>
let requests = 0
async function answer(request: Request): Promise<Response> {
  requests++
  const asked = await request.json<{ input: readonly string[] }>()
  const data = asked.input.map((text, index) => ({ index, embedding: embedText(text) }))
  return Response.json({ data, usage: { prompt_tokens: 9, total_tokens: 9 } })
}
const end = answerRequests((url, input, init) =>
  url === 'https://model.test/v1/embeddings' ? answer(new Request(input as RequestInfo, init)) : undefined,
)
beforeAll(async () => {
  clock = createSkippingClock()
  replaceClock(clock)
  await applyMigrations()
})
afterAll(() => {
  end()
  replaceClock()
})

type Tenant = Awaited<ReturnType<typeof newTenant>>
const shown = 5

/** The share of the questions whose session is among the first ones. */
async function recallOf({ key }: Tenant, ids: readonly string[], question: 1 | 2): Promise<number> {
  let found = 0
  for (const [i, fact] of facts.entries()) {
    const path = `/api/search?limit=20&q=${encodeURIComponent(fact[question])}`
    const { status, body } = await call<{ data: { session_id: string }[] }>('GET', path, { key })
    expect(status).toBe(200)
    const { data } = body
    if ([...new Set(data.map((hit) => hit.session_id))].slice(0, shown).includes(ids[i] ?? '')) found++
  }
  return found / facts.length
}

it('finds by meaning what the words miss, loses nothing of what they find, and leaves an idle tenant asleep', async () => {
  const tenant = await newTenant()
  const { key } = tenant
  const ids: string[] = []
  for (const [said] of facts) {
    const messages = [
      { role: 'user', content: said },
      { role: 'assistant', content: 'Noted.' },
    ]
    ids.push((await call<{ id: string }>('POST', '/api/sessions/import', { key, body: { messages } })).body.id)
  }
  const words = [await recallOf(tenant, ids, 1), await recallOf(tenant, ids, 2)]
  await call('PATCH', '/api/settings', { key, body: { search: { embedding_model: 'openai/embedder' } } })
  forgetSnapshot(tenant.id)
  const stub = bindings.TENANT.getByName(`t/${tenant.id}`)
  const ring = () => {
    clock.pass(2_000)
    return runDurableObjectAlarm(stub)
  }
  // One request for each session: the model knows all of them when the alarm does nothing more.
  await until(async () => (await ring(), requests >= facts.length))
  const fused = [await recallOf(tenant, ids, 1), await recallOf(tenant, ids, 2)]
  expect([words[0], fused[0]]).toEqual([1, 1])
  expect(words[1]).toBeLessThan(0.3)
  expect(fused[1]).toBeGreaterThanOrEqual(0.95)
  // Everything is embedded and compared: days later nothing wakes the tenant, until a session changes.
  for (let n = 0; n < 5; n++) await ring()
  clock.pass(3 * 86_400_000)
  const before = requests
  expect([await ring(), requests]).toEqual([false, before])
}, 120_000)
