import { expect, it } from 'vitest'
import { repeatableSessionCalls } from '#durable/platform/repeatable-calls.ts'

const message = (text: string) => ({ role: 'user', content: [{ type: 'text', text }] })
const submission = (text: string, idempotency = 'none') => ({ runId: 'r', message: message(text), idempotency })
const repeat = (path: string, ...args: readonly unknown[]) => repeatableSessionCalls[path]?.(args)

it('a submission is repeated as one that an earlier try may have claimed', () => {
  expect(repeat('runs.submit', submission('Hello'))).toEqual([submission('Hello', 'repeat')])
  expect(repeat('runs.submitAndWait', submission('Hello', 'first'))).toEqual([submission('Hello', 'repeat')])
})

it('a slash command is repeated with an idempotency key only', () => {
  expect(repeat('runs.submit', submission(' /undo'))).toBeUndefined()
  expect(repeat('runs.submit', submission('/undo', 'first'))).toEqual([submission('/undo', 'repeat')])
})

it('a stream that submits is repeated like a submission', () => {
  const post = (body: unknown) => ['https://session/', { method: 'POST', body: JSON.stringify(body) }]
  const format = { as: 'events' }
  const repeated = repeat('fetch', ...post({ command: submission('Hello'), format }))
  expect(repeated).toEqual(post({ command: submission('Hello', 'repeat'), format }))
  expect(repeat('fetch', ...post({ command: submission('/undo'), format }))).toBeUndefined()
  expect(repeat('fetch', ...post({ runId: 'r', format }))).toEqual(post({ runId: 'r', format }))
  const get = new Request('https://session/events')
  expect(repeat('fetch', get)).toEqual([get])
})

it('a change without a key is not repeated', () => {
  expect(repeat('history.undo', 1)).toBeUndefined()
  expect(repeat('runs.retry', 'r')).toBeUndefined()
})
