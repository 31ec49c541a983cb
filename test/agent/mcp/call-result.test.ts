/** Tests what a model gets of the result of a server, and how arguments are checked. */

import { describe, expect, it } from 'vitest'
import { checkArguments, convertResult } from '../../../src/agent/mcp/call-result.ts'

const textOf = (result: object, seesImages = false) => {
  const [first] = convertResult(result as never, seesImages).content
  return JSON.parse(first?.type === 'text' ? first.text : '{}') as {
    result?: string
    error?: string
    structuredContent?: unknown
  }
}

const png = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='

describe('convertResult', () => {
  it('joins texts and keeps structured content', () => {
    const content = [
      { type: 'text', text: 'a' },
      { type: 'resource', resource: { uri: 'u', text: 'b' } },
      { type: 'resource_link', uri: 'x://1', name: 'One' },
    ]
    expect(textOf({ content, structuredContent: { n: 1 }, _meta: { secret: 1 } })).toEqual({
      result: 'a\nb\n[resource One x://1]',
      structuredContent: { n: 1 },
    })
  })

  it('is a failure where the tool says so', () => {
    const result = convertResult({ isError: true, content: [{ type: 'text', text: 'no city' }] }, false)
    expect(result).toEqual({ content: [{ type: 'text', text: '{"error":"no city"}' }], failed: true })
  })

  it('gives images to a model that sees, and names them to another', () => {
    const content = [{ type: 'image', data: png, mimeType: 'image/jpeg' }]
    expect(convertResult({ content }, true).content[1]).toEqual({ type: 'image', mediaType: 'image/png', data: png })
    expect(convertResult({ content }, false).content).toHaveLength(1)
    expect(textOf({ content }).result).toContain('not shown')
  })

  it.each([['!!!!not base64 but long enough to be one'], [png.replace('iVBO', 'AAAA')], [`${png}<script>`], [''], [5]])(
    'shows no model a picture that is none, because a provider refuses it: %j',
    (data) => {
      const content = [
        { type: 'image', data, mimeType: 'image/png' },
        { type: 'image', data: png, mimeType: {} },
      ]
      expect(convertResult({ content }, true).content).toHaveLength(2)
      expect(textOf({ content }, true).result).toMatch(
        /^\[image, image\/png, \d+ bytes, not shown\]\n\[image, unknown type/,
      )
    },
  )

  it.each([[{}], [{ content: null }], [{ task: { taskId: 5 } }]])('is a failure without content: %j', (result) => {
    expect(textOf(result).error).toMatch(/no content.*may have taken effect/)
    expect(convertResult(result, false).failed).toBe(true)
  })

  it.each([
    [{ content: 'x' }, 'x'],
    [{ content: { type: 'text', text: 'x' } }, 'x'],
    [{ content: ['x', null, 5] }, 'x'],
    [{ content: [] }, ''],
    [{ structuredContent: {} }, ''],
  ])('takes the text of %j', (result, text) => {
    expect(textOf(result).result).toBe(text)
  })

  it.each(['yes', 1, 'true'])('is a failure when a server says so by %j', (isError) => {
    expect(textOf({ isError, content: 'no city' }).error).toBe('no city')
  })
})

describe('checkArguments', () => {
  const schema = {
    type: 'object',
    properties: { a: { type: 'string' }, n: { type: 'integer' }, l: { type: 'array' } },
    required: ['a'],
  }
  it.each([
    [{ a: 'x' }, undefined],
    [{ a: 'x', n: 5, l: [] }, undefined],
    [{ a: 'x', more: 1 }, undefined],
    [{}, 'missing: a'],
    [{ a: 5 }, '"a" must be of the type string'],
    [{ a: 'x', n: 1.5 }, '"n" must be of the type integer'],
  ])('%j', (input, error) => {
    expect(checkArguments(schema, input)).toBe(error)
  })

  it('refuses other fields where the schema does', () => {
    expect(checkArguments({ ...schema, additionalProperties: false }, { a: 'x', b: 1 })).toBe(
      'there is no parameter "b"',
    )
    expect(checkArguments({ additionalProperties: false }, { constructor: 1 })).toBe(
      'there is no parameter "constructor"',
    )
  })
})
