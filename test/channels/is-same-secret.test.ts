import { describe, expect, it } from 'vitest'
import { isSameSecret } from '#channels/is-same-secret.ts'

describe('isSameSecret', () => {
  it.each([
    ['secret', 'secret', true],
    ['secret', 'secreT', false],
    ['secret', 'secret ', false],
    ['secret', 'secretsecret', false],
    ['secretsecret', 'secret', false],
    ['ä€😀', 'ä€😀', true],
    ['', '', false],
    [null, undefined, false],
    [null, 'secret', false],
    ['secret', undefined, false],
  ])('compares %j and %j', (given, expected, isSame) => {
    expect(isSameSecret(given, expected)).toBe(isSame)
  })
})
