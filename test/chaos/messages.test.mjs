/**
 * Kills the server at random moments while people write into chats. As platforms do, the sender repeats what was not
 * acknowledged, and now and then what was. Every message is answered once; only an answer that says so comes twice.
 * `MESSAGES` and `KILLS` are their numbers, `LIFE_MS` is the longest life of a server, `SLOW_MS` the time that the platform
 * takes, `SEED` repeats the moments, `PLATFORM` names telegram, zalo, line or messenger.
 */

import { setTimeout as delay } from 'node:timers/promises'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { duplicateMark } from '#agent/policy/delivery-attempt.ts'
import { choosePlatform } from '../../bench/chat-platforms.ts'
import { startChatApi } from './chat-api.mjs'
import { clientTo, createRandom, follow, newWorld } from './world.mjs'

const total = Number(process.env['MESSAGES'] ?? 5_000)
const kills = Number(process.env['KILLS'] ?? 20)
const seed = Number(process.env['SEED'] ?? Date.now() % 1_000_000)
const dice = createRandom(seed)
const chats = Math.min(50, total)
/** In which a chat gets its answer, over several kills. */
const answerMs = 180_000
const longestLifeMs = Number(process.env['LIFE_MS'] ?? 6_000)

const world = await newWorld()
const platform = choosePlatform('telegram')
const api = await startChatApi({ slowMs: Number(process.env['SLOW_MS'] ?? 0) })
afterAll(async () => {
  await world.close()
  await api.close()
})

const start = () => world.start({ [platform.variable]: api.url })
let server
let channel
let sent = 0
let repeated = 0

const updateOf = (chat, name) => platform.sign(++sent, { chat, text: `[[say ${name}]]` })

async function deliver(update) {
  try {
    return (await fetch(`${server.url}/webhooks/${platform.name}/${channel}`, { method: 'POST', ...update })).status
  } catch {
    return 0
  }
}

/** Texts by what they answer: a marked one is counted apart. */
const answersTo = (chat, name) => api.sent(String(chat)).filter((text) => text.trim().endsWith(name))
const isAnswered = (chat, name) => answersTo(chat, name).length > 0

/** One message after the other, so that each has a turn of its own. */
async function write(chat, names) {
  for (const name of names) {
    const update = updateOf(chat, name)
    for (let status = await deliver(update); status !== 200; status = await deliver(update)) {
      repeated++
      await delay(100)
    }
    if (dice() < 0.05) await deliver(update)
    for (const deadline = Date.now() + answerMs; Date.now() < deadline && !isAnswered(chat, name);) await delay(20)
  }
}

/** Prints what the runs of messages without an answer say of its delivery. */
async function explainLosses() {
  const lost = new Set(written.flatMap(({ chat, names }) => names.filter((name) => !isAnswered(chat, name))))
  if (!lost.size) return
  const client = clientTo(server)
  const { json } = await client.get('/api/sessions?limit=100')
  for (const { id } of json.data) {
    const listener = await follow(server, id, 0)
    await delay(500)
    listener.close()
    const runs = new Set(listener.events.filter(({ type }) => type === 'run.completed').map(({ data }) => data.run_id))
    for (const run of runs) {
      const { json: view } = await client.get(`/api/sessions/${id}/runs/${run}`)
      if (view.delivery_error) console.log(`messages: ${run}: ${view.delivery_error}`)
    }
  }
}

const written = Array.from({ length: chats }, (_, n) => ({
  chat: 1_000 + n,
  names: Array.from({ length: Math.ceil((total - n) / chats) }, (_m, at) => `c${n}m${at}end`),
}))

beforeAll(
  async () => {
    server = await start()
    const { json } = await clientTo(server).post('/api/channels', {
      platform: platform.name,
      secrets: platform.secrets,
      settings: { allow_users: ['*'] },
    })
    channel = json.id
    const state = { isOver: false }
    const writing = Promise.all(written.map(({ chat, names }) => write(chat, names))).then(() => (state.isOver = true))
    for (let n = 0; n < kills && !state.isOver; n++) {
      await delay(500 + dice() * longestLifeMs)
      await world.kill(server)
      server = await start()
    }
    await writing
    await explainLosses()
    const all = written.flatMap(({ chat, names }) => names.map((name) => answersTo(chat, name)))
    const marked = all.flat().filter((text) => text.startsWith(duplicateMark)).length
    console.log(
      `messages: ${platform.name}, seed ${seed}, ${all.length} messages, up to ${kills} kills, ${repeated} deliveries repeated, ` +
        `${all.filter((one) => one.length === 0).length} lost, ${marked} marked as possible duplicates`,
    )
  },
  600_000 + total * 200,
)

it('every message is answered once, and a second answer says that it may be a duplicate', () => {
  const wrong = written.flatMap(({ chat, names }) =>
    names.flatMap((name) => {
      const answers = answersTo(chat, name)
      // A kill may come between the decision to send and the request: then the marked answer is the only one.
      const plain = answers.filter((text) => !text.startsWith(duplicateMark))
      return answers.length > 0 && plain.length <= 1 ? [] : [`${name}: ${plain.length} of ${answers.length}`]
    }),
  )
  expect(wrong).toEqual([])
})
