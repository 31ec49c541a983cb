/** Tests the spans of turns, model calls and tools with a collector double that records requests. */

import type { TurnSession } from '#durable/turn/turn-session.ts'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import type { SessionEvent } from '#agent/core/event.ts'
import type { Perform } from '#agent/core/ports.ts'
import { newTurn, type Result, type Turn } from '#agent/core/turn.ts'
import { noUsage } from '#agent/core/usage.ts'
import { addSpan, flushSpans, type TraceSpan } from '#durable/platform/otlp.ts'
import type { ChosenModel } from '#durable/turn/effects.ts'
import { ownerTurn } from '../../support/authority.ts'
import { traceTurnEnd, withTrace } from '#durable/turn/trace.ts'

type Request = { readonly url: string; readonly headers: Record<string, string>; readonly body: unknown }

let received: Request[] = []
let answer: () => Promise<Response>

beforeEach(() => {
  received = []
  answer = async () => new Response('{}')
  vi.spyOn(globalThis, 'fetch').mockImplementation((input, init) => {
    const body = JSON.parse(init?.body as string) as unknown
    received.push({ url: input as string, headers: init?.headers as Record<string, string>, body })
    return answer()
  })
})
afterEach(() => vi.restoreAllMocks())

const env = {
  OTEL_EXPORTER_OTLP_ENDPOINT: 'https://collector.test/',
  OTEL_EXPORTER_OTLP_HEADERS: 'authorization=Basic%20abc, x-scope = one',
} as unknown as Env
const untraced = {} as unknown as Env

const runId = 'run_0123456789abcdef0123456789abcdef'
const turn: Turn = newTurn(runId, 1_000, 9, { authority: { ...ownerTurn('ada'), requestId: 'req_1' } })
const chosen = { route: { id: 'openai/gpt-x', model: 'gpt-x' } } as unknown as ChosenModel
const usage = { ...noUsage, input: 12, output: 3 }
const model: Result = {
  of: 'model',
  reply: { role: 'assistant', content: [{ type: 'text', text: 'secret words' }], stop: 'end' },
  usage,
}
const tool: Result = {
  of: 'tool',
  message: { role: 'tool', callId: 'c1', name: 'terminal', content: [{ type: 'text', text: 'output' }], failed: true },
}
const performing = (...results: Result[]): Perform =>
  async function* () {
    yield* results
  }

const ended = {
  type: 'run.completed',
  output: 'secret words',
  usage,
  exit_reason: 'answered',
  completed: true,
  seq: 1,
  at: '2026-11-22T00:00:00Z',
  run_id: runId,
  session_id: 'ses_1',
} as SessionEvent

const work: Promise<unknown>[] = []
const session = {
  tenantId: 'ada',
  sessionId: 'ses_1',
  store: { current: () => turn },
  runInBackground: (promise: Promise<unknown>) => void work.push(promise),
} as unknown as TurnSession

const run = async (perform: Perform, step: object) => {
  const results: Result[] = []
  for await (const result of perform(step as never, turn)) results.push(result)
  return results
}

it('sends the spans of a turn as OTLP JSON, as one trace and without contents', async () => {
  const perform = withTrace(env, () => chosen, performing(model, tool))
  expect(await run(perform, { do: 'call-model', tools: true })).toEqual([model, tool])
  traceTurnEnd(session, env, [ended])
  await Promise.all(work.splice(0))
  expect(received.length).toBe(1)
  expect(received[0]).toMatchObject({
    url: 'https://collector.test/v1/traces',
    headers: { authorization: 'Basic abc', 'x-scope': 'one', 'content-type': 'application/json' },
  })
  expect(JSON.stringify(received[0]?.body)).not.toContain('secret words')
  const traceId = '0123456789abcdef0123456789abcdef'
  const parentSpanId = '0123456789abcdef'
  const spanId = expect.stringMatching(/^[0-9a-f]{16}$/) as string
  const nanoseconds = expect.stringMatching(/^\d{10,19}$/) as string
  const times = { startTimeUnixNano: nanoseconds, endTimeUnixNano: nanoseconds }
  expect(received[0]?.body).toEqual({
    resourceSpans: [
      {
        resource: { attributes: [{ key: 'service.name', value: { stringValue: 'talaria' } }] },
        scopeSpans: [
          {
            scope: { name: 'talaria' },
            spans: [
              {
                traceId,
                spanId,
                parentSpanId,
                name: 'chat gpt-x',
                kind: 3,
                ...times,
                attributes: [
                  { key: 'gen_ai.operation.name', value: { stringValue: 'chat' } },
                  { key: 'gen_ai.system', value: { stringValue: 'openai' } },
                  { key: 'gen_ai.request.model', value: { stringValue: 'gpt-x' } },
                  { key: 'gen_ai.usage.input_tokens', value: { intValue: '12' } },
                  { key: 'gen_ai.usage.output_tokens', value: { intValue: '3' } },
                  { key: 'talaria.request.id', value: { stringValue: 'req_1' } },
                ],
                status: { code: 1 },
              },
              expect.objectContaining({ traceId, parentSpanId, name: 'execute_tool terminal', status: { code: 2 } }),
              expect.objectContaining({ traceId, spanId: parentSpanId, name: 'invoke_agent talaria', kind: 1 }),
            ],
          },
        ],
      },
    ],
  })
})

it('does nothing without a collector', async () => {
  const perform = performing(model)
  expect(withTrace(untraced, () => chosen, perform)).toBe(perform)
  traceTurnEnd(session, untraced, [ended])
  expect([received, work]).toEqual([[], []])
})

it('loses spans, and nothing else, when the collector fails', async () => {
  const warnings = vi.spyOn(console, 'warn').mockImplementation(() => undefined)
  for (const failing of [() => Promise.reject(new Error('down')), async () => new Response('', { status: 503 })]) {
    answer = failing
    traceTurnEnd(session, env, [ended])
    await expect(Promise.all(work.splice(0))).resolves.toEqual([undefined])
  }
  expect(warnings).toHaveBeenCalledTimes(2)
  answer = async () => new Response('{}')
  await flushSpans(env)
  expect(received.length).toBe(2)
})

it('keeps at most 1000 spans and sends them in batches', async () => {
  const span: TraceSpan = {
    traceId: '1',
    spanId: '2',
    name: 'x',
    kind: 'internal',
    start: 1,
    end: 0,
    isFailed: false,
    attributes: {},
  }
  for (let n = 0; n < 1_200; n++) addSpan(span)
  await flushSpans(env)
  expect(received.length).toBe(5)
})
