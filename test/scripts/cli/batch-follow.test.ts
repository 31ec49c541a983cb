/** Tests `talaria batch follow` on a server that goes away while the batch and its results are read. */

import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeEach, expect, it, vi } from 'vitest'
import { run } from '../../../cli/commands/batch.mjs'

type Answer = (response: ServerResponse) => void
let answers: Answer[] = []
const server = createServer((_request, response) => (answers.shift() ?? refuse(500))(response))
await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
const folder = mkdtempSync(join(tmpdir(), 'talaria-follow-'))
const out = join(folder, 'answers.jsonl')
afterAll(() => {
  server.close()
  rmSync(folder, { recursive: true, force: true })
})

const json = (response: ServerResponse, status: number, body: object) => {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
}
const refuse =
  (status: number): Answer =>
  (response) =>
    json(response, status, { error: { message: `No ${status}.` } })
const batch =
  (status: string, running: number): Answer =>
  (response) =>
    json(response, 200, {
      id: 'b',
      status,
      counts: { completed: 1, failed: 0, running },
      spent_usd: 0,
      budget_usd: null,
    })
const cut: Answer = (response) => {
  response.writeHead(200, { 'content-length': '100' })
  response.write('{"n":1')
  setImmediate(() => response.destroy())
}
const whole: Answer = (response) => void response.end('{"n":1}\n')

beforeEach(() => {
  const wait = setTimeout
  // Pauses are a hundredth as long.
  vi.stubGlobal('setTimeout', (go: (...args: unknown[]) => void, ms = 0, ...args: unknown[]) =>
    wait(go, ms / 100, ...args),
  )
  vi.stubEnv('TALARIA_URL', `http://127.0.0.1:${(server.address() as AddressInfo).port}`)
  vi.stubEnv('TALARIA_API_KEY', 'k')
  vi.spyOn(process.stderr, 'write').mockReturnValue(true)
})
afterEach(() => {
  vi.unstubAllGlobals()
  vi.unstubAllEnvs()
  vi.restoreAllMocks()
})
const follow = () => run({ options: { out }, words: ['follow', 'b'], usage: '' })

it('looks again until the server is back, and reads cut results from their beginning', async () => {
  answers = [batch('running', 1), refuse(502), refuse(500), batch('completed', 0), refuse(500), cut, whole]
  expect(await follow()).toBe(0)
  expect(readFileSync(out, 'utf8')).toBe('{"n":1}\n')
  expect(answers).toEqual([])
})

it('ends at once where it has never seen the batch, and where it may not see it any more', async () => {
  answers = [refuse(500)]
  await expect(follow()).rejects.toThrow('No 500.')
  answers = [batch('running', 1), refuse(404)]
  await expect(follow()).rejects.toThrow('No 404.')
  answers = [batch('completed', 0), refuse(403)]
  await expect(follow()).rejects.toMatchObject({ status: 403 })
})
