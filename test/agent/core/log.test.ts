import { afterEach, expect, it, vi } from 'vitest'
import { log, redactLogsWith } from '#agent/core/log.ts'
import { maskSecrets } from '#agent/core/secrets/mask-secrets.ts'

afterEach(() => {
  vi.restoreAllMocks()
  redactLogsWith(maskSecrets)
})

/** Returns what an entry prints. */
function printed(level: 'warn' | 'error', write: () => void): string {
  const spy = vi.spyOn(console, level).mockImplementation(() => undefined)
  write()
  expect(spy).toHaveBeenCalledOnce()
  return String(spy.mock.calls[0]?.[0])
}

it('prints one line of JSON with level, event and ids', () => {
  const line = printed('warn', () =>
    log.warn('history.unreachable', 'History\ncannot be reached.', {
      tenant_id: 'a',
      session_id: 'ses_1',
      run_id: undefined,
      tries: 3,
    }),
  )
  expect(line).not.toContain('\n')
  expect(JSON.parse(line)).toEqual({
    level: 'warn',
    event: 'history.unreachable',
    message: 'History\ncannot be reached.',
    tenant_id: 'a',
    session_id: 'ses_1',
    tries: 3,
  })
})

it('contains errors with their causes, truncated and without secrets', () => {
  const key = 'sk-proj-0123456789abcdefghijklmnop'
  const error = new Error(`refused: ${key} ${'x'.repeat(9_000)}`, { cause: new TypeError(`token=${key}`) })
  const line = printed('error', () =>
    log.error('request.failed', key, { error, more: { authorization: `Bearer ${key}` } }),
  )
  expect(line).not.toContain(key)
  expect(line.length).toBeLessThan(20_000)
  expect(JSON.parse(line)).toMatchObject({
    error: { name: 'Error', cause: { name: 'TypeError', message: 'token=***' } },
  })
})

it('passes every text through the redactor of its tenant', () => {
  redactLogsWith((text, tenantId) => text.replaceAll('plain', `[${tenantId}]`))
  const line = printed('warn', () =>
    log.warn('a.b', 'plain', { tenant_id: 't1', error: new Error('plain'), detail: ['plain'], thrown: null }),
  )
  expect(line).not.toContain('plain')
  expect(line).toContain('[t1]')
})

it('survives a cause that refers to itself', () => {
  const error = new Error('loop')
  error.cause = error
  expect(printed('warn', () => log.warn('a.b', 'c', { error }))).toContain('loop')
})
