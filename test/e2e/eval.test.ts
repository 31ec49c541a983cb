/** Tests `talaria eval` and `talaria batch` as users run them, with the example cases and a scripted model. */

import { spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { replies } from '../../examples/evals/replies.ts'
import { replayFor, startModelServer } from '../kit/index.ts'
import { createClient } from './support/client.ts'
import { deleteState, root, type Server, startServer } from './support/server.ts'
import { modelSettings } from './support/shared.ts'

const home = mkdtempSync(join(tmpdir(), 'talaria-eval-'))
const examples = join(root, 'examples/evals')
const model = await startModelServer()
let server: Server
beforeAll(async () => {
  model.script(replayFor(replies))
  server = await startServer({ env: modelSettings(model.url) })
})
afterAll(async () => {
  await server.stop()
  await model.close()
  deleteState(server.state)
  rmSync(home, { recursive: true, force: true })
})

type Result = { readonly code: number | null; readonly out: string; readonly err: string }
function run(...args: readonly string[]): Promise<Result> {
  const env = { PATH: process.env['PATH'] ?? '', HOME: home, TALARIA_URL: server.url, TALARIA_API_KEY: server.key }
  const child = spawn(process.execPath, [join(root, 'bin/talaria.mjs'), ...args], { env, cwd: home })
  let [out, err] = ['', '']
  child.stdout?.on('data', (text: Buffer) => void (out += text.toString()))
  child.stderr?.on('data', (text: Buffer) => void (err += text.toString()))
  return new Promise((resolve) => child.on('close', (code) => resolve({ code, out, err })))
}

type Report = {
  readonly results: readonly {
    readonly name: string
    readonly model?: string
    readonly passed: boolean
    readonly rate: number
    readonly runs: readonly {
      readonly failures: readonly { assertion: string; reason: string }[]
      readonly calls: string[]
    }[]
    readonly before?: { readonly passed: boolean }
  }[]
}

it('passes the ten example cases, in each reporter, and compares with the last run', async () => {
  const first = await run('eval', examples, '--json')
  const { results } = JSON.parse(first.out) as Report
  expect(results.filter(({ passed }) => !passed).map(({ name, runs }) => [name, runs[0]?.failures])).toEqual([])
  expect([first.code, results.length, results[0]?.before]).toEqual([0, 10, undefined])
  expect(results.find(({ name }) => name.startsWith('extracts'))?.runs).toHaveLength(2)
  // The page lists them by their outcome.
  const { json } = await createClient(server.url, server.key).get('/api/sessions?tag=eval-passed&limit=50')
  expect(json.data.length).toBeGreaterThanOrEqual(10)
  const shown = await run('eval', examples)
  expect([shown.code, shown.out]).toEqual([0, expect.stringContaining('10 of 10 passed')])
  const junit = await run('eval', examples, '--filter', 'weather', '--reporter', 'junit', '--out', 'report.xml')
  expect([junit.code, readFileSync(join(home, 'report.xml'), 'utf8')]).toEqual([
    0,
    expect.stringMatching(/<testsuites tests="1" failures="0">[^]*name="looks up the weather"/),
  ])
})

it('says what failed and that it passed before, and ends with 1', async () => {
  model.script((asked) => (asked.text.includes('umbrella') ? { text: 'Perhaps.' } : replayFor(replies)(asked)))
  const { code, out } = await run('eval', examples, '--filter', 'weather', '--reporter', 'markdown')
  expect(code).toBe(1)
  expect(out).toContain('**0 of 1 passed, 1 that passed before')
  expect(out).toContain('| ❌ | looks up the weather | default | 0 % |')
  expect(out).toContain('not called; called were none')
  model.script(replayFor(replies))
})

it('runs several models side by side, with a rate over repetitions', async () => {
  let nth = 0
  model.script(({ body, text }) => {
    if (body['model'] !== 'flaky') return replayFor(replies)({ text, step: 9 } as never) ?? { text: 'yes' }
    return { text: nth++ % 2 ? 'no' : 'yes' }
  })
  writeFileSync(
    join(home, 'side.eval.yaml'),
    'name: says yes\nmodels: [openai/bench, openai/flaky]\nrepeat: 4\nleast: 0.5\nmessages: [Say yes.]\nassert: [{ output: { equals: yes } }, { maxToolCalls: 0, soft: true }]\n'.replaceAll(
      'equals: yes',
      'equals: "yes"',
    ),
  )
  const { code, out } = await run('eval', 'side.eval.yaml', '--json')
  const { results } = JSON.parse(out) as Report
  expect(results.map(({ model: of, rate, passed }) => [of, rate, passed])).toEqual([
    ['openai/bench', 1, true],
    ['openai/flaky', 0.5, true],
  ])
  expect(code).toBe(0)
  model.script(replayFor(replies))
})

it.each([
  ['name: x\nmessages: [a]\nassert: [{ called: b }]\n', 'it needs one of calledTool'],
  ['name: x\nmessages: [a]\nasserts: []\n', 'unknown field: asserts'],
  ['name: x\nassert: [{ output: a }]\n', 'needs messages'],
  ['name: [', 'wrong.eval.yaml'],
])('refuses %j', async (text, message) => {
  writeFileSync(join(home, 'wrong.eval.yaml'), text)
  const { code, err } = await run('eval', 'wrong.eval.yaml')
  expect([code, err]).toEqual([2, expect.stringContaining(message)])
})

it('runs a batch of a file and writes the answers', async () => {
  model.script(undefined)
  writeFileSync(join(home, 'prompts.csv'), 'id,prompt\na,[[say one]]\nb,[[say two]]\n')
  const { code, err } = await run('batch', 'prompts.csv', '--concurrency', '2', '--out', 'answers.jsonl')
  expect([code, err]).toEqual([0, expect.stringContaining('2 of 2')])
  const lines = readFileSync(join(home, 'answers.jsonl'), 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
  expect(lines).toMatchObject([
    { id: 'a', status: 'completed', output: 'one' },
    { id: 'b', status: 'completed', output: 'two' },
  ])
  const [batch] = JSON.parse((await run('batch', 'ls', '--json')).out) as readonly { readonly id: string }[]
  expect((await run('batch', 'results', batch?.id ?? '', '--format', 'sharegpt')).out).toContain('"conversations"')
  expect((await run('batch', 'rm', batch?.id ?? '')).code).toBe(0)
})
