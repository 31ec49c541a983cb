/** Tests `talaria eval` and `talaria batch` as users run them, with the example cases and a scripted model. */

import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { itInTurn } from '#test/support/long.ts'
import { replies } from '../../examples/evals/replies.ts'
import { replayFor, startModelServer } from '../kit/index.ts'
import { openCommandLine } from './support/command-line.ts'
import { createTenant, server } from './support/here.ts'
import { root } from './support/server.ts'

const home = mkdtempSync(join(tmpdir(), 'talaria-eval-'))
const examples = join(root, 'examples/evals')
const model = await startModelServer()
const modelId = `openai/forward-${model.port}`
let tenant: Awaited<ReturnType<typeof createTenant>>
beforeAll(async () => {
  model.script(replayFor(replies))
  tenant = await createTenant()
  await tenant.client.send('PATCH', '/api/settings', { body: { model: { default: modelId } } })
})
const commands = openCommandLine(home, () => ({ TALARIA_URL: server.url, TALARIA_API_KEY: tenant.key }))
const run = (...args: readonly string[]) => commands.run(args)
afterAll(async () => {
  commands.close()
  await model.close()
  rmSync(home, { recursive: true, force: true })
})

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

it('passes the ten example cases', async () => {
  const { code, out } = await run('eval', examples, '--json')
  const { results } = JSON.parse(out) as Report
  expect(results.filter(({ passed }) => !passed).map(({ name, runs }) => [name, runs[0]?.failures])).toEqual([])
  expect([code, results.length, results[0]?.before]).toEqual([0, 10, undefined])
  expect(results.find(({ name }) => name.startsWith('extracts'))?.runs).toHaveLength(2)
  // The page lists them by their outcome.
  const { json } = await tenant.client.get('/api/sessions?tag=eval-passed&limit=50')
  expect(json.data.length).toBeGreaterThanOrEqual(10)
})

itInTurn('says what failed and that it passed before, and ends with 1', async () => {
  model.script((asked) => (asked.text.includes('umbrella') ? { text: 'Perhaps.' } : replayFor(replies)(asked)))
  const { code, err } = await run(
    'eval',
    examples,
    '--filter',
    'weather',
    '--reporter',
    'markdown',
    '--out',
    'report.md',
  )
  expect([code, err]).toEqual([1, '0 of 1 passed.\n'])
  const out = readFileSync(join(home, 'report.md'), 'utf8')
  expect(out).toContain('**0 of 1 passed, 1 that passed before')
  expect(out).toContain('| ❌ | looks up the weather | default | 0 % |')
  expect(out).toContain('not called; called were none')
  model.script(replayFor(replies))
})

itInTurn('runs several models side by side, with a rate over repetitions', async () => {
  let nth = 0
  model.script(({ body, text }) => {
    if (!String(body['model']).endsWith('flaky'))
      return replayFor(replies)({ text, step: 9 } as never) ?? { text: 'yes' }
    return { text: nth++ % 2 ? 'no' : 'yes' }
  })
  writeFileSync(
    join(home, 'side.eval.yaml'),
    `name: says yes\nmodels: [${modelId}, ${modelId}-flaky]\nrepeat: 4\nleast: 0.5\nmessages: [Say yes.]\nassert: [{ output: { equals: "yes" } }, { maxToolCalls: 0, soft: true }]\n`,
  )
  const { code, out } = await run('eval', 'side.eval.yaml', '--json')
  const { results } = JSON.parse(out) as Report
  expect(results.map(({ model: of, rate, passed }) => [of, rate, passed])).toEqual([
    [modelId, 1, true],
    [`${modelId}-flaky`, 0.5, true],
  ])
  expect(code).toBe(0)
  model.script(replayFor(replies))
})

it('refuses a wrong case before anything runs', async () => {
  writeFileSync(join(home, 'wrong.eval.yaml'), 'name: x\nmessages: [a]\nassert: [{ called: b }]\n')
  const { code, err } = await run('eval', 'wrong.eval.yaml')
  expect([code, err]).toEqual([2, expect.stringContaining('it needs one of calledTool')])
})

itInTurn('counts soft assertions with --strict, and ends with 4 without access', async () => {
  model.script(undefined)
  writeFileSync(
    join(home, 'soft.eval.yaml'),
    'name: soft\nmessages: ["[[say yes]]"]\nassert: [{ output: "yes" }, { output: "no", soft: true }]\n',
  )
  const stranger = openCommandLine(home, () => ({ TALARIA_URL: server.url, TALARIA_API_KEY: 'tal_stranger' }))
  const codes = [
    await run('eval', 'soft.eval.yaml'),
    await run('eval', 'soft.eval.yaml', '--strict'),
    await run('eval', 'soft.eval.yaml', '-m', 'nowhere/none', '-m', modelId),
    await stranger.run(['eval', 'soft.eval.yaml']),
  ].map(({ code }) => code)
  stranger.close()
  expect(codes).toEqual([0, 1, 1, 4])
  model.script(replayFor(replies))
})

itInTurn('refuses files that it cannot read or write before anything runs', async () => {
  writeFileSync(join(home, 'one.eval.yaml'), 'name: x\nmessages: [a]\nassert: [{ output: a }]\n')
  const refusals = await Promise.all(
    [
      ['eval', 'one.eval.yaml', '--out', 'nowhere/report.md'],
      ['eval', 'one.eval.yaml', '--record', 'nowhere/record.json'],
      ['batch', 'nowhere.jsonl'],
      ['batch', '.'],
      ['batch', 'retrie', 'b1'],
      ['batch', 'retry', 'b1', '--budget', 'five'],
    ].map((args) => run(...args)),
  )
  expect(refusals.map(({ code, err }) => [code, err.split('\n')[0]])).toEqual([
    [2, 'There is no folder nowhere for nowhere/report.md.'],
    [2, 'There is no folder nowhere for nowhere/record.json.'],
    [1, expect.stringContaining('nowhere.jsonl')],
    [1, expect.stringContaining('EISDIR')],
    [2, expect.stringContaining('talaria batch FILE')],
    [2, '--budget needs a positive number.'],
  ])
})

itInTurn('runs a batch of a file and writes the answers', async () => {
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
