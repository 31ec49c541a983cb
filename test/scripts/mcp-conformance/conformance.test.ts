/**
 * Runs what a revision of the protocol requires of clients and servers, by the official conformance suite: our MCP client
 * with its sign-in, and the protocol of our MCP server with the tools that the suite wants.
 */

import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, it } from 'vitest'
import type { JsonObject } from '#agent/core/parse-json.ts'
import { limitConcurrency } from '#backends/limit-concurrency.ts'
import { itInTurn } from '../../support/long.ts'
import { compileCache } from '../../support/compile-cache.mjs'
import { serveFixture } from './fixture-server.ts'
import { playScenario, prepareClient } from './play-client.ts'

const folder = dirname(fileURLToPath(import.meta.url))
const suite = join(
  dirname(createRequire(import.meta.url).resolve('@modelcontextprotocol/conformance/package.json')),
  'dist/index.js',
)
const newest = '2026-07-28'
const older = ['2025-11-25']
let results = ''
let player: Awaited<ReturnType<typeof listenForScenarios>>
let fixture: Awaited<ReturnType<typeof serveFixture>>

beforeAll(async () => {
  results = mkdtempSync(join(tmpdir(), 'conformance-'))
  await prepareClient()
  player = await listenForScenarios()
  fixture = await serveFixture()
})
afterAll(() => {
  player.close()
  fixture.close()
  rmSync(results, { recursive: true, force: true })
})

/** More at a time would slow each other down until they run into the time limits of sign-ins. */
const maxPlayed = 4

/** Plays the scenarios that ask.sh names. */
async function listenForScenarios() {
  const play = limitConcurrency(maxPlayed)
  const server = createServer((request, response) => {
    void (async () => {
      let body = ''
      for await (const part of request) body += String(part)
      const [name = '', url = '', context = ''] = body.split('\n')
      const error = await play(() => playScenario({ name, url, context: JSON.parse(context) as JsonObject })).catch(
        (reason: unknown) => reason,
      )
      response.writeHead(error === undefined ? 200 : 500).end(error === undefined ? '' : String(error))
    })()
  })
  await new Promise<void>((ready) => server.listen(0, '127.0.0.1', ready))
  const { port } = server.address() as AddressInfo
  return { port, close: () => (server.closeAllConnections(), void server.close()) }
}

/** The status is 0 when all checks pass, except those of the file of expected failures, which must fail. */
function run(role: string, revision: string, more: readonly string[]) {
  const expected = ['--expected-failures', join(folder, `expected-failures-${revision}.yml`)]
  const words = [suite, role, '--requirements', revision, ...expected, '-o', results, '--timeout', '120000', ...more]
  const child = spawn(process.execPath, words, { env: { ...process.env, ...compileCache } })
  let said = ''
  child.stdout.on('data', (data: Buffer) => (said += data.toString()))
  child.stderr.on('data', (data: Buffer) => (said += data.toString()))
  return new Promise<{ readonly status: number | null; readonly said: string }>((resolve) =>
    child.on('close', (status) => resolve({ status, said })),
  )
}

/** The lines of the summary about scenarios that are not as expected. */
const listFailures = (said: string): readonly string[] => {
  const at = said.search(/^(?:.{0,9}Unexpected failures|.{0,9}Stale baseline)/m)
  return at < 0 ? [] : said.slice(at).split('\n').filter(Boolean)
}

async function playClient(revision: string) {
  const command = `bash "${join(folder, 'ask.sh')}" ${player.port}`
  const { status, said } = await run('client', revision, ['--command', command])
  return { status, failed: listFailures(said) }
}

async function playServer(revision: string) {
  const { status, said } = await run('server', revision, ['--url', fixture.url])
  return { status, failed: listFailures(said) }
}

const passed = { status: 0, failed: [] }
const timeout = 180_000

it(`our client does what ${newest} requires`, { timeout }, async () => {
  expect(await playClient(newest)).toEqual(passed)
})
itInTurn.each(older)('our client does what %s requires', { timeout }, async (revision) => {
  expect(await playClient(revision)).toEqual(passed)
})

it(`our server does what ${newest} requires`, { timeout }, async () => {
  expect(await playServer(newest)).toEqual(passed)
})
itInTurn.each(older)('our server does what %s requires', { timeout }, async (revision) => {
  expect(await playServer(revision)).toEqual(passed)
})
