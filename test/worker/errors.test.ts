/** Tests which unexpected errors are transient, and how each is logged. */

import { describe, expect, it, vi } from 'vitest'
import { renderError } from '#worker/errors.ts'

const platform = (message: string, fields: object = {}) => Object.assign(new Error(message), fields)

async function outcome(error: Error) {
  const spies = { warn: vi.spyOn(console, 'warn'), error: vi.spyOn(console, 'error') }
  const silence = Object.values(spies)
  for (const spy of silence) spy.mockImplementation(() => undefined)
  try {
    const response = renderError(error)
    const { error: body } = await response.json<{ error: { code: string } }>()
    return [response.status, body.code, spies.warn.mock.calls.length, spies.error.mock.calls.length]
  } finally {
    for (const spy of silence) spy.mockRestore()
  }
}

describe('an unexpected error', () => {
  it.each([
    ['a reset', platform('Durable Object reset because its code was updated.')],
    ['a reset by its property', platform('x', { durableObjectReset: true })],
    ['an error that may be repeated', platform('x', { retryable: true })],
    ['an object with too much work', platform('Durable Object is overloaded. Too many requests queued.')],
    ['an object with too much work, by its property', platform('x', { overloaded: true })],
    ['a lost connection', platform('Network connection lost.')],
    ['a lost connection to D1', platform('D1_ERROR: Network connection lost.')],
    ['an error of the runtime', platform('internal error; reference = abc')],
    [
      'a reset database',
      platform('D1_ERROR: D1 DB storage operation exceeded timeout which caused object to be reset.'),
    ],
    ['a host that does not answer', platform('It cannot be reached.', { name: 'BackendError' })],
    ['another reset database', platform('D1_ERROR: Internal error in D1 DB storage caused object to be reset.')],
  ])('is a 503 and a warning for %s', async (_name, error) => {
    expect(await outcome(error)).toEqual([503, 'unavailable', 1, 0])
  })

  it.each([
    ['a field with such a name', platform('session_reset: Invalid option: expected one of "idle"')],
    ['a method with such a name', new TypeError("Cannot read properties of undefined (reading 'reset')")],
    ['a text that mentions it', platform('The setting may not be "overloaded".')],
  ])('is a defect for %s', async (_name, error) => {
    expect(await outcome(error)).toEqual([500, 'internal_error', 0, 1])
  })
})
