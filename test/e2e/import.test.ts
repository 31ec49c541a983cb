/** Tests `talaria import hermes` as users run it, into a tenant of its own. */

import { spawn } from 'node:child_process'
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, expect, it } from 'vitest'
import { createHermesHome } from '../scripts/import/hermes-home.ts'
import { createTenant, server } from './support/here.ts'
import { root } from './support/server.ts'

const home = createHermesHome()
const { key: tenantKey } = await createTenant()
afterAll(() => rmSync(home, { recursive: true, force: true }))

function run(...args: readonly string[]): Promise<{ code: number | null; output: string }> {
  const env = { PATH: process.env['PATH'] ?? '', TALARIA_URL: server.url, TALARIA_API_KEY: tenantKey }
  const child = spawn(process.execPath, [join(root, 'bin/talaria.mjs'), ...args], { env })
  let output = ''
  child.stdout.on('data', (text: Buffer) => void (output += text.toString()))
  child.stderr.on('data', (text: Buffer) => void (output += text.toString()))
  return new Promise((resolve) => child.on('close', (code) => resolve({ code, output })))
}

const get = async (path: string) =>
  (await fetch(`${server.url}${path}`, { headers: { authorization: `Bearer ${tenantKey}` } })).json() as Promise<
    Record<string, unknown>
  >

it('brings a home once, however often it runs', async () => {
  const first = await run('import', 'hermes', home)
  expect(first.output).toContain('7 added, 0 already there, 0 not taken.')
  expect(first.code).toBe(0)
  const second = await run('import', 'hermes', home)
  expect(second.output).toContain('0 added, 7 already there, 0 not taken.')
  const [memory, sessions, skill, settings, messages] = await Promise.all([
    get('/api/memory'),
    get('/api/sessions'),
    get('/api/skills/ship-it'),
    get('/api/settings'),
    get('/api/sessions/hermes-20260101_120000_ab12cd/messages'),
  ])
  expect(memory).toMatchObject({
    memory: { entries: ['The staging server is in Frankfurt.', 'Deploys run on Fridays.'] },
    user: { entries: ['Prefers short answers.'] },
  })
  expect((sessions['data'] as { id: string }[]).map(({ id }) => id).toSorted()).toEqual([
    'hermes-20260101_120000_ab12cd',
    'hermes-telegram:42_7',
  ])
  expect(skill).toMatchObject({ name: 'ship-it', content: expect.stringContaining('step by step') })
  expect(settings).toMatchObject({ agent: { soul: 'You are Hermes, a calm assistant.' } })
  expect(messages['data']).toHaveLength(7)
}, 60_000)

it('says what to do about a wrong key and a wrong folder', async () => {
  const wrong = spawnWith('wrong-key')
  expect(await wrong).toBe(4)
  expect((await run('import', 'hermes', join(home, 'nothing'))).code).toBe(1)
  expect((await run('import', 'elsewhere', home)).code).toBe(2)
})

function spawnWith(key: string): Promise<number | null> {
  const env = { PATH: process.env['PATH'] ?? '', TALARIA_URL: server.url, TALARIA_API_KEY: key }
  const child = spawn(process.execPath, [join(root, 'bin/talaria.mjs'), 'import', 'hermes', home], { env })
  return new Promise((resolve) => child.on('close', resolve))
}
