/**
 * Kills the server at random moments under load and checks that every accepted turn ends, no effect happens twice,
 * transcripts are well-formed and event numbers rise. `SEED` repeats the moments, `KILLS` is their number.
 */

import { setTimeout as delay } from 'node:timers/promises'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { clientTo, createRandom, eventsOf, isRising, newWorld, countInLog, listProblems } from './world.mjs'

const kills = Number(process.env['KILLS'] ?? 20)
const seed = Number(process.env['SEED'] ?? Date.now() % 1_000_000)
const dice = createRandom(seed)
const parallel = 4
const longestMs = 3_000
const mostPerLife = 16

const world = await newWorld()
afterAll(() => world.close())

/** A turn appends a line to a file, twice. */
const program = (name) =>
  `[[call terminal {"command":"echo ${name}-a >> log"} then terminal {"command":"echo ${name}-b >> log"} ` +
  `+ write_file {"path":"f","content":"x"} then text 12]] [[slow gap=${1 + Math.floor(dice() * 25)} nonce=${name}]]`

const turns = []
let refused = 0

/** Sends turns one after the other until the server is gone. Only those with a 2xx are checked. */
async function talk(client, life, worker, isOver) {
  for (let n = 0; n < mostPerLife / parallel && !isOver(); n++) {
    const name = `k${life}w${worker}n${n}`
    const turn = { name }
    try {
      turn.session = await client.newSession()
      const { status, json } = await client.post(`/api/sessions/${turn.session}/steer`, { input: program(name) })
      if (status !== 202) throw new Error(`${status}`)
      turn.run = json.run_id
      turns.push(turn)
      await delay(50 + dice() * 300)
    } catch {
      refused++
      return
    }
  }
}

let back
const found = []

beforeAll(
  async () => {
    for (let life = 0; life < kills; life++) {
      const server = await world.start()
      let over = false
      const client = clientTo(server)
      const talking = Array.from({ length: parallel }, (_, worker) => talk(client, life, worker, () => over))
      await delay(200 + dice() * longestMs)
      over = true
      await world.kill(server)
      await Promise.all(talking)
    }
    back = await world.start()
    const client = clientTo(back)
    for (const turn of turns) found.push(await lookAt(client, turn))
    const ended = found.filter(({ run }) => run?.exit_reason).length
    const restarted = found.filter(({ run }) => run?.notes.length).length
    const givenUp = found.filter(isGivenUp).length
    const unknown = found.reduce((sum, { told }) => sum + told.filter((one) => one === 'unknown').length, 0)
    console.log(
      `random kills: seed ${seed}, ${kills} kills, ${turns.length} turns accepted, ${refused} requests cut off, ` +
        `${ended} ended, ${givenUp} of them given up after three deaths in a row, ${restarted} of them with a call of the model repeated, ${unknown} effects reported as unknown`,
    )
  },
  120_000 + kills * 25_000,
)

async function lookAt(client, { name, session, run: id }) {
  const path = `/api/sessions/${session}/runs/${id}`
  let run
  for (const deadline = Date.now() + 60_000; Date.now() < deadline && !run?.exit_reason; await delay(100))
    run = (await client.get(path)).json
  const messages = await client.messages(session)
  const told = messages
    .filter((message) => message.role === 'tool' && message.name === 'terminal')
    .map(({ content }) => (/It is unknown whether it took effect/.test(content) ? 'unknown' : 'done'))
  const times = [await countInLog(client, session, `${name}-a`), await countInLog(client, session, `${name}-b`)]
  const events = run?.exit_reason ? await eventsOf(back, session, id) : []
  return { name, run, messages, told, times, events }
}

it('accepts turns before it is killed', () => {
  expect(turns.length).toBeGreaterThan(kills)
})

/** A turn ends after three crashes without progress. On a slow machine the time between kills may be too short. */
const isGivenUp = ({ run }) =>
  run?.exit_reason === 'failed_interrupted' &&
  run.notes.filter(({ did }) => did === 'repeat' || did === 'go on').length >= 2 &&
  /restarted again and again/.test(run.output)

it('every accepted turn ends with an answer, or says that it died too often at one step', () => {
  const open = found.filter((turn) => turn.run?.exit_reason !== 'answered' && !isGivenUp(turn))
  expect(open.map(({ name, run }) => `${name}: ${run?.exit_reason} ${run?.output}`)).toEqual([])
})

it('no effect happens twice, and one that is reported as done has happened', () => {
  const wrong = found.filter(
    ({ told, times, ...turn }) =>
      (isGivenUp(turn) ? told.length > 2 : told.length !== 2) ||
      told.some((one, n) => (one === 'done' ? times[n] !== 1 : times[n] > 1)),
  )
  expect(wrong.map(({ name, told, times }) => `${name}: ${told} ${times}`)).toEqual([])
})

it('every transcript is well-formed', () => {
  const wrong = found.filter(({ messages }) => listProblems(messages).length)
  expect(wrong.map(({ name, messages }) => `${name}: ${listProblems(messages)}`)).toEqual([])
})

it('numbers of events rise, and there is one end', () => {
  const ends = (events) => events.filter(({ type }) => /^run\.(completed|failed|cancelled)$/.test(type)).length
  const wrong = found.filter(({ events }) => !isRising(events.map(({ id }) => id)) || ends(events) !== 1)
  expect(wrong.map(({ name, events }) => `${name}: ${events.map(({ id, type }) => `${id}:${type}`)}`)).toEqual([])
})

it('nothing is logged as an error on the way back', () => {
  expect(back.log()).not.toMatch(/ERROR|Unexpected error|Uncaught/)
})
