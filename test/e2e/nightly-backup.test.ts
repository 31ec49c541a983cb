/** Tests that a backup which the server has made at night is restored on another server, with checkpoints. */

import { spawn } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { adminKey, deleteState, root, type Server, startServer } from './support/server.ts'

const folder = mkdtempSync(join(tmpdir(), 'talaria-night-'))
const passphrase = 'correct horse battery'
let servers: readonly [source: Server, target: Server]
let session: string

beforeAll(async () => {
  servers = await Promise.all([startServer({ env: { BACKUP_PASSPHRASE: passphrase } }), startServer()])
  session = await fill(servers[0])
}, 180_000)
afterAll(async () => {
  for (const server of servers ?? []) {
    await server.stop()
    deleteState(server.state)
  }
  rmSync(folder, { recursive: true, force: true })
})

async function request<T>(server: Server, method: string, path: string, body?: unknown): Promise<T> {
  const headers = { authorization: `Bearer ${server.key}`, 'content-type': 'application/json' }
  const init = { method, headers, ...(body !== undefined && { body: JSON.stringify(body) }) }
  const answer = await fetch(`${server.url}${path}`, init)
  if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${await answer.text()}`)
  return (await answer.json().catch(() => undefined)) as T
}

async function fill(server: Server): Promise<string> {
  await request(server, 'PATCH', '/api/settings', { approvals: { mode: 'off' } })
  const { id } = await request<{ id: string }>(server, 'POST', '/api/sessions', { title: 'Kept', model: 'demo/agent' })
  for (const input of ['write a.txt: first', 'write a.txt: second'])
    await request(server, 'POST', `/api/sessions/${id}/chat`, { input })
  await request(server, 'POST', '/api/memory', { target: 'memory', content: 'Kept.' }).catch(() => undefined)
  return id
}

function talaria(server: Server, ...args: readonly string[]): Promise<{ code: number | null; output: string }> {
  const env = {
    PATH: process.env['PATH'] ?? '',
    TALARIA_URL: server.url,
    TALARIA_API_KEY: adminKey,
    TALARIA_BACKUP_PASSPHRASE: passphrase,
  }
  const child = spawn(process.execPath, [join(root, 'bin/talaria.mjs'), ...args], { env })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (text) => void (output += String(text)))
  return new Promise((resolve) => child.on('close', (code) => resolve({ code, output })))
}

/** The runtime's own address: the server before it does not pass this on. */
const trigger = (server: Server) =>
  fetch(`${/http:[^ ]+\/cdn-cgi\/local\/scheduled/.exec(server.log())?.[0]}?cron=*/10+*+*+*+*`)
const checkpoints = (server: Server) => request<unknown>(server, 'GET', `/api/sessions/${session}/checkpoints`)

it(
  'comes back whole: conversation, files, checkpoints and memory, compared by hashes',
  { timeout: 180_000 },
  async () => {
    const [source, target] = servers
    expect((await trigger(source)).ok).toBe(true)
    const { backups } = await request<{ backups: string }>(source, 'GET', '/health/detailed')
    expect(backups).toMatch(/^last complete night .*, \d+ tenants/)

    const fetched = await talaria(source, 'backup', folder, '--all', '--night', 'newest')
    expect(fetched.code, fetched.output).toBe(0)
    const files = readdirSync(join(folder, 'default'))
    const sealed = files.filter((name) => name.endsWith('.sealed'))
    expect(sealed.length).toBeGreaterThanOrEqual(4)
    expect(Buffer.concat(sealed.map((name) => readFileSync(join(folder, 'default', name)))).includes('second')).toBe(
      false,
    )
    expect((await talaria(source, 'backup', folder, '--night', 'newest')).output).toMatch(/ 0 fetched/)

    const changed = join(folder, 'default', files.find((name) => name.startsWith('night-')) ?? '')
    const whole = readFileSync(changed, 'utf8')
    writeFileSync(changed, whole.replace(/"sha256":"./, '"sha256":"x'))
    expect((await talaria(target, 'restore', folder)).output).toMatch(/list was changed/)
    writeFileSync(changed, whole)

    const restored = await talaria(target, 'restore', folder)
    expect(restored.output).toMatch(/default: 1 sessions, .* 0 differ/)
    expect(restored.code).toBe(0)
    expect(await checkpoints(target)).toEqual(await checkpoints(source))
    expect(await checkpoints(target)).toMatchObject({ data: [{ n: 1 }, { n: 2 }] })
    await request(target, 'POST', `/api/sessions/${session}/rollback`, {})
    const headers = { authorization: `Bearer ${target.key}` }
    const file = await fetch(`${target.url}/api/sessions/${session}/files/a.txt`, { headers })
    expect(await file.text()).toBe('first')
  },
)

it('says which nights there are when another one is wanted', { timeout: 60_000 }, async () => {
  const [source] = servers
  const missing = await talaria(source, 'backup', folder, '--night', '2020-01-01')
  expect([missing.code, missing.output]).toEqual([2, expect.stringContaining('no backup of 2020-01-01')])
  const restored = await talaria(source, 'restore', folder, '--night', '2020-01-01')
  expect([restored.code, restored.output]).toEqual([2, expect.stringContaining('It has: night-')])
})
