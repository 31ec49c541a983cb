/** Tests that the progress of a call is bounded in rate and size, and that secrets in it are masked. */

import { expect, it } from 'vitest'
import { createRedactor } from '#agent/core/secrets/redaction.ts'
import { openProgress } from '#tools/dispatch.ts'
import { createTestClock } from '../support/clock.ts'

function open(secrets: readonly string[] = []) {
  const clock = createTestClock()
  const deltas: string[] = []
  const redactor = createRedactor(secrets)
  const progress = openProgress({
    schedule: clock.schedule,
    openRedaction: () => redactor.stream(),
    emit: (delta) => deltas.push(delta),
  })
  return { ...progress, clock, deltas }
}

it('joins what is printed within 200 ms, and is silent without output', async () => {
  const { report, clock, deltas } = open()
  report('one\n')
  report('two\n')
  expect(deltas).toEqual([])
  await clock.pass(200)
  expect(deltas).toEqual(['one\ntwo\n'])
  await clock.pass(10_000)
  expect([deltas.length, clock.pending()]).toEqual([1, 0])
})

it('ends with what is not reported yet where that has colours, masked: the result has none', async () => {
  const quick = open(['correct horse'])
  quick.report('\u001B[31mred\u001B[0m correct horse\n')
  quick.end()
  expect(quick.deltas).toEqual(['\u001B[31mred\u001B[0m ***\n'])
  const long = open()
  long.report('\u001B[1;32mok\u001B[0m\n')
  await long.clock.pass(200)
  long.report('plain\n')
  long.end()
  expect(long.deltas.at(-1)).toBe('plain\n')
  const plain = open()
  plain.report('no colours [31m\n')
  plain.end()
  expect([plain.deltas, plain.clock.pending()]).toEqual([[], 0])
})

it('shows the end of much output, and says how much is left out', async () => {
  const { report, clock, deltas } = open()
  for (let n = 0; n < 100_000; n++) report(`line ${n}\n`)
  await clock.pass(200)
  const [delta = ''] = deltas
  expect(delta).toMatch(/^\[\.\.\. \d+ characters left out \.\.\.\]\n/)
  expect(delta.endsWith('line 99999\n')).toBe(true)
  expect(delta.length).toBeLessThan(2_100)
})

it('of ten minutes of output sends at most 650 events', async () => {
  const { report, clock, deltas } = open()
  for (let ms = 0; ms < 600_000; ms += 100) {
    report('x\n')
    await clock.pass(100)
  }
  expect(deltas.length).toBeGreaterThan(500)
  expect(deltas.length).toBeLessThan(650)
})

it('masks a secret at every split', async () => {
  const secret = 'sk-proj-abcdefghij0123456789klmnop'
  const text = `key ${secret} end\n`
  for (let at = 1; at < text.length; at++) {
    const { report, clock, deltas } = open()
    report(text.slice(0, at))
    await clock.pass(200)
    report(text.slice(at))
    await clock.pass(200)
    report('more\n')
    await clock.pass(200)
    expect(deltas.join('')).toBe('key *** end\nmore\n')
  }
})

it('masks an exact value and a private key whose beginning was dropped', async () => {
  const value = 'correct horse battery staple'
  const key = `-----BEGIN RSA PRIVATE KEY-----\n${`${'A'.repeat(64)}\n`.repeat(190)}-----END RSA PRIVATE KEY-----\n`
  const { report, clock, deltas } = open([value])
  report('x\n'.repeat(30_000))
  report(`${key}pass: ${value}\nend\n`)
  await clock.pass(200)
  await clock.pass(200)
  expect(deltas.join('')).not.toContain('AAAA')
  expect(deltas.join('')).not.toContain('battery')
  expect(deltas.join('')).toContain('end')
})

it('sends nothing after the end of the call', async () => {
  const { report, end, clock, deltas } = open()
  report('one\n')
  end()
  report('two\n')
  await clock.pass(1_000)
  expect([deltas, clock.pending()]).toEqual([[], 0])
})
