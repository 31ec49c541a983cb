/**
 * Kills `talaria backup` and `talaria restore` at random moments, and the server that is restored into: each goes on with
 * the same command, and in the end everything is there once. `SEED` repeats the moments, `KILLS` is their number.
 */

import { spawn } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { afterAll, expect, it } from 'vitest'
import { eventually } from '../e2e/support/client.ts'
import { deleteState, freePort, newState, root, startServer } from '../e2e/support/server.ts'
import { clientTo, createRandom } from './world.mjs'

const kills = Number(process.env['KILLS'] ?? 20)
const seed = Number(process.env['SEED'] ?? Date.now() % 1_000_000)
const dice = createRandom(seed)
const sessions = 12
const firstMs = 300
const lastMs = 3_000
const aliveMs = 4_000

const folder = mkdtempSync(join(tmpdir(), 'talaria-copies-'))
const state = newState()
const port = await freePort()
const source = await startServer()
let target = await startServer({ state, port })

afterAll(async () => {
  await source.kill()
  await target.kill()
  deleteState(source.state)
  deleteState(state)
  rmSync(folder, { recursive: true, force: true })
})

const requireOk = ({ status, text, json }) => {
  if (status >= 300) throw new Error(`${status} ${text}`)
  return json
}

/** Resolves with the exit code, null for a command that was killed. */
function talaria(at, args, killAfterMs) {
  const env = {
    PATH: process.env['PATH'] ?? '',
    TALARIA_URL: at.url,
    TALARIA_API_KEY: at.key,
    TALARIA_BACKUP_PASSPHRASE: 'correct horse battery',
  }
  const child = spawn(process.execPath, [join(root, 'bin/talaria.mjs'), ...args], { env })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (text) => void (output += String(text)))
  const timer = killAfterMs === undefined ? undefined : setTimeout(() => child.kill('SIGKILL'), killAfterMs)
  return new Promise((resolve) =>
    child.on('close', (code) => {
      clearTimeout(timer)
      resolve({ code, output })
    }),
  )
}

const moment = () => firstMs + dice() * (lastMs - firstMs)

async function fill(client) {
  requireOk(await client.send('PATCH', '/api/settings', { body: { approvals: { mode: 'off' } } }))
  for (let n = 0; n < sessions; n++) {
    const id = await client.newSession({ title: `Session ${n}`, model: 'demo/agent' })
    for (const turn of [1, 2]) requireOk(await client.chat(id, `write ${turn}.txt: content ${n}-${turn}`))
  }
  const operations = [{ action: 'add', content: 'A fact.' }]
  requireOk(await client.send('PATCH', '/api/memory', { body: { target: 'memory', operations } }))
  requireOk(await client.post('/api/jobs', { name: 'kept', schedule: '0 0 1 1 *', prompt: 'Greet.' }))
}

/** Everything that a person sees. */
async function contentOf(client) {
  const { data } = requireOk(await client.get('/api/sessions?limit=100'))
  const described = data.map(async ({ id, title }) => {
    const messages = (await client.messages(id)).map(({ role, content }) => [role, content])
    const files = [1, 2].map(async (n) => (await client.get(`/api/sessions/${id}/files/${n}.txt`)).text)
    return { id, title, messages, files: await Promise.all(files) }
  })
  const memory = requireOk(await client.get('/api/memory')).memory.entries
  const jobs = requireOk(await client.get('/api/jobs?limit=100')).data.map(({ name }) => name)
  const found = requireOk(await client.get('/api/search?q=content&limit=20')).data.length
  const all = await Promise.all(described)
  return { sessions: all.toSorted((a, b) => a.id.localeCompare(b.id)), memory, jobs, found }
}

it(`a backup that is killed ${kills} times has everything, once`, async () => {
  await fill(clientTo(source))
  let killed = 0
  for (let n = 0; n < kills; n++) if ((await talaria(source, ['backup', folder], moment())).code === null) killed++
  const { code, output } = await talaria(source, ['backup', folder])
  expect(code, output).toBe(0)
  expect(output).toMatch(new RegExp(`${sessions} sessions`))
  const names = readdirSync(join(folder, 'default'))
  const last = JSON.parse(
    readFileSync(join(folder, 'default', 'entries.jsonl'), 'utf8')
      .trimEnd()
      .split('\n')
      .at(-1),
  )
  expect(last.name).toBe('end')
  expect(new Set(last.names).size).toBe(last.names.length)
  // Nothing of a killed run is left.
  expect(names.filter((name) => /sealed|part/.test(name))).toHaveLength(last.names.length)
  console.log(`seed ${seed}: a backup of ${last.names.length} parts was killed ${killed} times`)
}, 900_000)

it('a restore that is killed, with its server, brings everything, once', async () => {
  let [killed, broken, deaths] = [0, 0, 0]
  const over = new AbortController()
  const killServer = async () => {
    while (!over.signal.aborted) {
      await delay(aliveMs * (0.5 + dice()))
      if (over.signal.aborted || deaths >= kills / 4) return
      await target.kill()
      deaths++
      target = await startServer({ state, port })
    }
  }
  const killing = killServer()
  let ended
  for (let n = 0; ended?.code !== 0 && n < kills * 20; n++) {
    ended = await talaria(target, ['restore', folder], killed < kills ? moment() : undefined)
    if (ended.code === null) killed++
    else if (ended.code !== 0) broken++
    if (ended.code !== 0) await delay(500)
  }
  over.abort()
  await killing
  console.log(`a restore was killed ${killed} times and broken off ${broken} times; its server died ${deaths} times`)
  expect(ended.code, ended.output).toBe(0)
  expect(ended.output).toMatch(/ 0 differ/)
  const wanted = await contentOf(clientTo(source))
  await eventually(
    async () => (await contentOf(clientTo(target))).found,
    (found) => found === wanted.found,
  )
  expect(await contentOf(clientTo(target))).toEqual(wanted)
}, 900_000)
