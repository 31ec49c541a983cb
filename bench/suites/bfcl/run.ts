/**
 * `node bench/suites/bfcl/run.ts FOLDER [--every N]`: sends the cases of BFCL through a server, in four dialects of
 * providers, streamed and whole, and compares the calls that a client gets with those that the model wrote.
 */

import { parseArgs } from 'node:util'
import { encodeToolName } from '#agent/providers/shared/call-id.ts'
import type { AnsweringDialect } from '../../../test/agent/providers/support/call-answers.ts'
import { startDialectServer } from '../../../test/kit/dialect-server.ts'
import { deleteState, startServer } from '../../../test/e2e/support/server.ts'
import { type BfclCase, readCases } from './cases.ts'
import { dialectModels, dialectSettings } from './dialect-models.ts'

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { every: { type: 'string', default: '1' } },
})
const [folder] = positionals
if (!folder) throw new Error('usage: node bench/suites/bfcl/run.ts FOLDER [--every N]')
const cases = readCases(folder).filter((_, at) => at % Number(values.every) === 0)
const requestsAtOnce = 8

const caseMark = /\[case (\d+) (streamed|whole)\]/

/** Makes the calls of the case that the message names. */
const provider = await startDialectServer(({ dialect, text }) => {
  const [, at = '', way] = text.match(caseMark) ?? []
  const known = cases[Number(at)]
  if (!known || at === '') return { refusal: 'There is no such case.' }
  const calls = known.calls.map(({ name, json }, n) => ({ id: `call_${n}`, name: encodeToolName(name), json }))
  if (calls.some(({ name }) => !text.includes(JSON.stringify(name)))) return { refusal: 'A tool is not offered.' }
  return { calls, isWhole: way === 'whole' && dialect !== 'bedrock-converse' }
})

const server = await startServer({ env: dialectSettings(provider.urlOf) })

type GivenCall = { readonly name: string; readonly arguments: string }
type Fragment = { readonly index: number; readonly function: { readonly name?: string; readonly arguments?: string } }

async function ask(
  { prompt, tools }: BfclCase,
  at: number,
  model: string,
  isStreamed: boolean,
): Promise<readonly GivenCall[]> {
  const response = await fetch(`${server.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${server.key}`, 'content-type': 'application/json' },
    body: JSON.stringify({
      model,
      stream: isStreamed,
      messages: [{ role: 'user', content: `[case ${at} ${isStreamed ? 'streamed' : 'whole'}] ${prompt}` }],
      tools: tools.map((one) => ({ type: 'function', function: one })),
    }),
  })
  const text = await response.text()
  if (!response.ok) throw new Error(`${response.status} ${text.slice(0, 300)}`)
  if (!isStreamed) {
    const { choices } = JSON.parse(text) as {
      readonly choices: readonly {
        readonly message: { readonly tool_calls?: readonly { readonly function: GivenCall }[] }
      }[]
    }
    return (choices[0]?.message.tool_calls ?? []).map((call) => call.function)
  }
  return joinFragments(text)
}

function joinFragments(stream: string): readonly GivenCall[] {
  const calls: { name: string; arguments: string }[] = []
  for (const [, data = ''] of stream.matchAll(/^data: (\{.*)$/gm)) {
    const chunk = JSON.parse(data) as {
      readonly error?: { readonly message: string }
      readonly choices: readonly { readonly delta: { readonly tool_calls?: readonly Fragment[] } }[]
    }
    if (chunk.error) throw new Error(chunk.error.message)
    for (const { index, function: part } of chunk.choices[0]?.delta.tool_calls ?? []) {
      const call = (calls[index] ??= { name: '', arguments: '' })
      call.name += part.name ?? ''
      call.arguments += part.arguments ?? ''
    }
  }
  return calls
}

let [asked, failed, shown] = [0, 0, 0]
async function check(known: BfclCase, at: number, dialect: AnsweringDialect, isStreamed: boolean) {
  const wanted = JSON.stringify(known.calls.map(({ name, json }) => ({ name, arguments: json })))
  const given = await ask(known, at, dialectModels[dialect], isStreamed).then(
    (calls) => JSON.stringify(calls.map(({ name, arguments: json }) => ({ name, arguments: json }))),
    (error: unknown) => String(error),
  )
  asked++
  if (given === wanted) return
  failed++
  if (shown++ < 4) console.log(`${known.id} ${dialect} ${isStreamed ? 'streamed' : 'whole'}\n  ${wanted}\n  ${given}`)
}

async function runAll(dialect: AnsweringDialect, isStreamed: boolean) {
  const before = failed
  shown = 0
  for (let from = 0; from < cases.length; from += requestsAtOnce) {
    const some = cases.slice(from, from + requestsAtOnce)
    await Promise.all(some.map((known, n) => check(known, from + n, dialect, isStreamed)))
  }
  const right = cases.length - failed + before
  console.log(`${dialect} ${isStreamed ? 'streamed' : 'whole'}: ${right} of ${cases.length}`)
}

const started = Date.now()
try {
  for (const dialect of Object.keys(dialectModels) as AnsweringDialect[])
    for (const isStreamed of [true, false]) await runAll(dialect, isStreamed)
  console.log(`${asked} requests, ${failed} differ, ${Math.round((Date.now() - started) / 1_000)} s`)
} finally {
  await server.stop()
  deleteState(server.state)
  await provider.close()
}
process.exitCode = failed ? 1 : 0
