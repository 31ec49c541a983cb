/**
 * Tests `talaria backup` and `talaria restore` between two servers, also of what a server has backed up at night: everything
 * arrives, and what changed on the way is found.
 */

import { spawn } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { isLong } from '#test/support/long.ts'
import { compileCache } from '../support/compile-cache.mjs'
import { createClient, newTenant } from './support/client.ts'
import { type Equipped, useEquipped } from './support/equipped.ts'
import { server as target } from './support/here.ts'
import { deleteState, root, type Server, startServer } from './support/server.ts'

const folder = mkdtempSync(join(tmpdir(), 'talaria-backup-'))
const passphrase = 'correct horse battery'
let source: Equipped
let tenant: Awaited<ReturnType<typeof newTenant>>
let session: string

beforeAll(async () => {
  source = await useEquipped()
  tenant = await newTenant(createClient(source.url, source.key))
  session = await fill()
}, 180_000)
afterAll(() => rmSync(folder, { recursive: true, force: true }))

type At = { readonly url: string; readonly key: string }
const ofTenant = (url: string): At => ({ url, key: tenant.key ?? '' })

async function request<T>(at: At, method: string, path: string, body?: unknown): Promise<T> {
  const headers = { authorization: `Bearer ${at.key}`, 'content-type': 'application/json' }
  const init = { method, headers, ...(body !== undefined && { body: JSON.stringify(body) }) }
  const answer = await fetch(`${at.url}${path}`, init)
  if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${await answer.text()}`)
  return (await answer.json().catch(() => undefined)) as T
}

/** A conversation with a file, a memory, a skill, a job and a setting. */
async function fill(): Promise<string> {
  const at = ofTenant(source.url)
  const { id } = await request<{ id: string }>(at, 'POST', '/api/sessions', { title: 'Kept', model: 'demo/agent' })
  await request(at, 'POST', `/api/sessions/${id}/chat`, { input: 'write a.txt: hello' })
  await request(at, 'PATCH', `/api/sessions/${id}`, { pinned: true })
  const skill = '---\nname: kept-skill\ndescription: Kept.\n---\nDo it.'
  await request(at, 'POST', '/api/skills', { name: 'kept-skill', content: skill })
  await request(at, 'POST', '/api/jobs', { name: 'kept', schedule: '0 0 1 1 *', prompt: 'Greet.' })
  await request(at, 'PATCH', '/api/settings', { timezone: 'Europe/Berlin' })
  return id
}

function talaria(at: At, ...args: readonly string[]): Promise<{ code: number | null; output: string }> {
  const env = {
    PATH: process.env['PATH'] ?? '',
    ...compileCache,
    TALARIA_URL: at.url,
    TALARIA_API_KEY: at.key,
    TALARIA_BACKUP_PASSPHRASE: passphrase,
  }
  const child = spawn(process.execPath, [join(root, 'bin/talaria.mjs'), ...args], { env })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (text) => void (output += String(text)))
  return new Promise((resolve) => child.on('close', (code) => resolve({ code, output })))
}

const backUp = () => talaria(source, 'backup', folder, '--tenant', tenant.id)
const restore = () => talaria(target, 'restore', folder, '--tenant', tenant.id)
const files = () => readdirSync(join(folder, tenant.id)).filter((name) => name.endsWith('.sealed'))

describe('a backup', { timeout: 120_000 }, () => {
  it('is sealed, and a repetition takes only what has changed', async () => {
    const first = await backUp()
    expect(first.code, first.output).toBe(0)
    expect(first.output).toMatch(/1 sessions/)
    const sealed = files().map((name) => readFileSync(join(folder, tenant.id, name)))
    expect(sealed.length).toBeGreaterThanOrEqual(3)
    expect(Buffer.concat(sealed).includes('hello')).toBe(false)
    const again = await backUp()
    expect(again.output).toMatch(/2 fetched/)
  })

  it('arrives whole on another server: conversation, files, skill, job, settings and keys', async () => {
    const { code, output } = await restore()
    expect(output).toMatch(/1 sessions, .* 0 differ/)
    expect(code).toBe(0)
    const [from, to] = [ofTenant(source.url), ofTenant(target.url)]
    // Events are not restored: they were for those who listened.
    const messages = (at: At) => request<{ data: unknown[] }>(at, 'GET', `/api/sessions/${session}/messages`)
    expect((await messages(to)).data).toEqual((await messages(from)).data)
    for (const path of ['/api/settings', '/api/memory', '/api/jobs'])
      expect(await request(to, 'GET', path), path).toEqual(await request(from, 'GET', path))
    const kept = await request<{ title: string; pinned: boolean }>(to, 'GET', `/api/sessions/${session}`)
    expect(kept).toMatchObject({ title: 'Kept', pinned: true })
    const file = await fetch(`${target.url}/api/sessions/${session}/files/a.txt`, {
      headers: { authorization: `Bearer ${to.key}` },
    })
    expect(await file.text()).toBe('hello')
    expect(JSON.stringify(await request(to, 'GET', '/api/skills/kept-skill'))).toContain('Do it.')
    const found = await request<{ data: unknown[] }>(to, 'GET', '/api/search?q=hello')
    expect(found.data).toHaveLength(1)
    await request(to, 'POST', `/api/sessions/${session}/chat`, { input: 'read a.txt' })
  })

  it('does not go into a tenant that is in use', async () => {
    const { code, output } = await restore()
    expect(code).toBe(2)
    expect(output).toMatch(/has sessions\. Restore into an empty one/)
  })

  it('is not restored when a file or the list was changed, or with another passphrase', async () => {
    const list = join(folder, tenant.id, 'entries.jsonl')
    const whole = readFileSync(list, 'utf8')
    writeFileSync(
      list,
      whole
        .split('\n')
        .filter((line) => !line.includes('"end"'))
        .join('\n'),
    )
    expect((await restore()).output).toMatch(/not complete/)
    writeFileSync(list, whole.replaceAll(/"sha256":"./g, '"sha256":"x'))
    expect((await restore()).output).toMatch(/list was changed/)
    writeFileSync(list, whole)
    const other = join(folder, 'other.txt')
    writeFileSync(other, 'another passphrase')
    const refused = await talaria(target, 'restore', folder, '--tenant', tenant.id, '--passphrase-file', other)
    expect(refused.output).toMatch(/not that of the backup/)
  })

  it('is for the owner alone', async () => {
    const { code } = await talaria(ofTenant(source.url), 'backup', join(folder, 'x'), '--tenant', tenant.id)
    expect(code).toBe(4)
  })
})

// The tests of the nights themselves are test/worker/nightly-backup.test.ts.
describe.each(isLong ? ['of a night'] : [])('a backup %s', { timeout: 180_000 }, () => {
  const nights = mkdtempSync(join(tmpdir(), 'talaria-night-'))
  let server: Server
  let empty: Server
  let id: string

  beforeAll(async () => {
    ;[server, empty] = await Promise.all([startServer({ env: { BACKUP_PASSPHRASE: passphrase } }), startServer()])
    await request(server, 'PATCH', '/api/settings', { approvals: { mode: 'off' } })
    const session = { title: 'Kept', model: 'demo/agent' }
    id = (await request<{ id: string }>(server, 'POST', '/api/sessions', session)).id
    for (const input of ['write a.txt: first', 'write a.txt: second'])
      await request(server, 'POST', `/api/sessions/${id}/chat`, { input })
    await request(server, 'POST', '/api/memory', { target: 'memory', content: 'Kept.' }).catch(() => undefined)
  }, 180_000)
  afterAll(async () => {
    for (const one of [server, empty]) {
      await one?.stop()
      if (one) deleteState(one.state)
    }
    rmSync(nights, { recursive: true, force: true })
  })

  /** The runtime's own address: the server before it does not pass this on. */
  const trigger = () => fetch(`${/http:[^ ]+\/cdn-cgi\/local\/scheduled/.exec(server.log())?.[0]}?cron=*/10+*+*+*+*`)
  const checkpoints = (at: At) => request<unknown>(at, 'GET', `/api/sessions/${id}/checkpoints`)

  it('comes back whole: conversation, files, checkpoints and memory, compared by hashes', async () => {
    expect((await trigger()).ok).toBe(true)
    const { backups } = await request<{ backups: string }>(server, 'GET', '/health/detailed')
    expect(backups).toMatch(/^last complete night .*, \d+ tenants/)

    const fetched = await talaria(server, 'backup', nights, '--all', '--night', 'newest')
    expect(fetched.code, fetched.output).toBe(0)
    const files = readdirSync(join(nights, 'default'))
    const sealed = files.filter((name) => name.endsWith('.sealed'))
    expect(sealed.length).toBeGreaterThanOrEqual(4)
    expect(Buffer.concat(sealed.map((name) => readFileSync(join(nights, 'default', name)))).includes('second')).toBe(
      false,
    )
    expect((await talaria(server, 'backup', nights, '--night', 'newest')).output).toMatch(/ 0 fetched/)

    const changed = join(nights, 'default', files.find((name) => name.startsWith('night-')) ?? '')
    const whole = readFileSync(changed, 'utf8')
    writeFileSync(changed, whole.replace(/"sha256":"./, '"sha256":"x'))
    expect((await talaria(empty, 'restore', nights)).output).toMatch(/list was changed/)
    writeFileSync(changed, whole)

    const restored = await talaria(empty, 'restore', nights)
    expect(restored.output).toMatch(/default: 1 sessions, .* 0 differ/)
    expect(restored.code).toBe(0)
    expect(await checkpoints(empty)).toEqual(await checkpoints(server))
    expect(await checkpoints(empty)).toMatchObject({ data: [{ n: 1 }, { n: 2 }] })
    await request(empty, 'POST', `/api/sessions/${id}/rollback`, {})
    const headers = { authorization: `Bearer ${empty.key}` }
    const file = await fetch(`${empty.url}/api/sessions/${id}/files/a.txt`, { headers })
    expect(await file.text()).toBe('first')
  })

  it('says which nights there are when another one is wanted', async () => {
    const missing = await talaria(server, 'backup', nights, '--night', '2020-01-01')
    expect([missing.code, missing.output]).toEqual([2, expect.stringContaining('no backup of 2020-01-01')])
    const restored = await talaria(server, 'restore', nights, '--night', '2020-01-01')
    expect([restored.code, restored.output]).toEqual([2, expect.stringContaining('It has: night-')])
  })
})
