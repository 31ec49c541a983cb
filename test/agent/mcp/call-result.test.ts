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
    const content = [{ type: 'image', data: 'aGk=', mimeType: 'image/png' }]
    expect(convertResult({ content }, true).content[1]).toEqual({ type: 'image', mediaType: 'image/png', data: 'aGk=' })
    expect(convertResult({ content }, false).content).toHaveLength(1)
    expect(textOf({ content }).result).toContain('not shown')
  })

  it.each([[{}], [{ content: 'x' }], [{ content: [null, 5] }]])('has no text for %j', (result) => {
    expect(textOf(result)).toEqual({ result: '' })
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
