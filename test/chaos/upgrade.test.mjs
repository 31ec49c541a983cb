/**
 * Switches the code under a deployment: an earlier release writes sessions, jobs, channels, memory and an open turn, this
 * code goes on with them, and the earlier release again. `UPGRADE_FROM` names another release of the repository.
 */

import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { eventually } from '../e2e/support/client.ts'
import { deleteState, newState, root, startServer } from '../e2e/support/server.ts'
import { modelSettings } from '../e2e/support/shared.ts'
import { startModelServer } from '../support/model-server/server.ts'
import { clientTo } from './world.mjs'

/** The last commit whose objects store no version of their schema. */
const release = process.env['UPGRADE_FROM'] ?? '733c2a8f'

mkdirSync(join(root, '.wrangler'), { recursive: true })
const earlier = mkdtempSync(join(root, '.wrangler', 'upgrade-'))
const state = newState()
const model = await startModelServer()
let running

async function start(folder) {
  await running?.kill()
  running = await startServer({ state, env: modelSettings(model.url), ...(folder && { folder }) })
  return clientTo(running)
}
const startEarlier = () => start(earlier)
const startThis = () => start()

function checkOut() {
  const archive = execFileSync('git', ['archive', '--format=tar', release], { cwd: root, maxBuffer: 2 ** 30 })
  execFileSync('tar', ['-x', '-C', earlier], { input: archive })
  symlinkSync(join(root, 'node_modules'), join(earlier, 'node_modules'))
}

beforeAll(checkOut)
afterAll(async () => {
  await running?.kill()
  await model.close()
  deleteState(state)
  rmSync(earlier, { recursive: true, force: true })
})

const requireOk = ({ status, text, json }) => {
  if (status >= 300) throw new Error(`${status} ${text}`)
  return json
}
/** Data that must never be lost, and the additions of each code. */
const written = { said: [], memory: [], jobs: [], channels: [] }
let session
let asking
let running200

async function say(client, words) {
  requireOk(await client.chat(session, `[[say heard ${words}]] ${words}`))
  written.said.push(words)
}

/** Each code writes every kind of data. */
async function write(client, by) {
  await say(client, `words-of-${by}`)
  const operations = [{ action: 'add', content: `A fact of ${by}.` }]
  requireOk(await client.send('PATCH', '/api/memory', { body: { target: 'memory', operations } }))
  written.memory.push(`A fact of ${by}.`)
  const job = { name: `job-of-${by}`, schedule: '0 0 1 1 *', prompt: 'Greet.' }
  written.jobs.push(requireOk(await client.post('/api/jobs', job)).name)
  const channel = {
    name: `channel-of-${by}`,
    signature: 'github',
    secret: `a-secret-that-is-long-${by}`,
    prompt: 'Look.',
  }
  written.channels.push(requireOk(await client.post('/api/webhooks', channel)).name)
  requireOk(await client.chat(session, `[[call write_file {"path":"${by}.txt","content":"${by}"} then say kept]]`))
}

async function found(client) {
  const memory = requireOk(await client.get('/api/memory')).memory.entries
  const jobs = requireOk(await client.get('/api/jobs?limit=100')).data.map(({ name }) => name)
  const channels = requireOk(await client.get('/api/webhooks?limit=100')).data.map(({ name }) => name)
  const texts = (await client.messages(session)).map(({ content }) => content ?? '')
  const said = written.said.filter((words) => texts.some((text) => text === `heard ${words}`))
  return { said, memory: memory.toSorted(), jobs: jobs.toSorted(), channels: channels.toSorted() }
}

const expected = () => ({
  said: written.said,
  memory: written.memory.toSorted(),
  jobs: written.jobs.toSorted(),
  channels: written.channels.toSorted(),
})

const filesOf = async (client, names) =>
  Promise.all(names.map(async (name) => (await client.get(`/api/sessions/${session}/files/${name}.txt`)).text))

const isSearched = async (client, words) => {
  const { data } = requireOk(await client.get(`/api/search?q=${words}`))
  return JSON.stringify(data).includes(words)
}

const runOf = async (client, { session: id, run }) => (await client.get(`/api/sessions/${id}/runs/${run}`)).json

async function begin(client, input) {
  const id = await client.newSession()
  const { run_id: run } = requireOk(await client.post(`/api/sessions/${id}/steer`, { input }))
  return { session: id, run }
}

describe('a deployment of an earlier release', () => {
  it('is filled by that release, and ends with a turn that waits and one that runs', async () => {
    const client = await startEarlier()
    session = await client.newSession({ title: 'Kept' })
    await write(client, 'one')
    asking = await begin(client, '[[call clarify {"question":"Which?","choices":["red","blue"]} then say chosen]]')
    await eventually(async () => requireOk(await client.get('/api/questions')).data.length, Boolean)
    running200 = await begin(client, '[[slow gap=20 chunks=200 nonce=open]]')
    await eventually(
      () => model.journal().length,
      (length) => length >= 5,
    )
    expect(await found(client)).toEqual(expected())
  }, 240_000)

  it('loses nothing when this code takes over, which writes more', async () => {
    const client = await startThis()
    await eventually(async () => (await runOf(client, running200))?.exit_reason, Boolean, 60_000)
    expect((await runOf(client, running200)).exit_reason).toBe('answered')
    expect(await found(client)).toEqual(expected())
    expect(await filesOf(client, ['one'])).toEqual(['one'])
    await eventually(() => isSearched(client, 'words-of-one'), Boolean)
    await write(client, 'two')
    expect(await found(client)).toEqual(expected())
  }, 240_000)

  it('loses nothing when the earlier release comes back, which answers the question and writes more', async () => {
    const client = await startEarlier()
    expect(await found(client)).toEqual(expected())
    expect(await filesOf(client, ['one', 'two'])).toEqual(['one', 'two'])
    const [question] = requireOk(await client.get('/api/questions')).data
    requireOk(await client.post(`/api/questions/${question.id}`, { answer: 'red' }))
    await eventually(async () => (await runOf(client, asking))?.exit_reason, Boolean, 60_000)
    expect((await runOf(client, asking)).exit_reason).toBe('answered')
    await write(client, 'three')
    await eventually(() => isSearched(client, 'words-of-two'), Boolean)
    expect(await found(client)).toEqual(expected())
  }, 240_000)

  it('loses nothing at the second upgrade', async () => {
    const client = await startThis()
    expect(await found(client)).toEqual(expected())
    expect(await filesOf(client, ['one', 'two', 'three'])).toEqual(['one', 'two', 'three'])
    for (const words of written.said) await eventually(() => isSearched(client, words), Boolean)
    await write(client, 'four')
    expect(await found(client)).toEqual(expected())
    expect(running.log()).not.toMatch(/ERROR|Unexpected error|Uncaught/)
  }, 240_000)
})
