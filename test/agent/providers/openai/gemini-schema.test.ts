import { describe, expect, it } from 'vitest'
import { toGeminiSchema } from '#agent/providers/openai/gemini-schema.ts'

const text = { type: 'string' }

describe('toGeminiSchema', () => {
  it.each<readonly [string, object, object]>([
    [
      'removes unsupported keywords',
      {
        $schema: 'https://json-schema.org/draft/2020-12/schema',
        type: 'object',
        properties: { at: { type: 'string', description: 'Where.', default: 'x', examples: ['y'], minLength: 1 } },
        required: ['at', 'gone'],
        additionalProperties: false,
      },
      { type: 'object', properties: { at: { type: 'string', description: 'Where.', minLength: 1 } }, required: ['at'] },
    ],
    ['reduces a list of types to one type', { type: ['string', 'null'] }, { type: 'string', nullable: true }],
    ['converts a null choice to `nullable`', { anyOf: [text, { type: 'null' }] }, { type: 'string', nullable: true }],
    ['converts `oneOf` to `anyOf`', { oneOf: [text, { type: 'integer' }] }, { anyOf: [text, { type: 'integer' }] }],
    ['keeps an enum of strings', { type: 'string', enum: ['a', 'b'] }, { type: 'string', enum: ['a', 'b'] }],
    ['converts a constant to an enum', { const: 'a' }, { type: 'string', enum: ['a'] }],
    ['removes an enum of numbers', { type: 'integer', enum: [1, 2] }, { type: 'integer' }],
    ['keeps the format date-time', { type: 'string', format: 'date-time' }, { type: 'string', format: 'date-time' }],
    ['removes other formats', { type: 'string', format: 'uri' }, text],
    [
      'converts the items of an array',
      { type: 'array', items: { type: 'string', format: 'uri' } },
      { type: 'array', items: text },
    ],
    ['adds items to an array without them', { type: 'array' }, { type: 'array', items: {} }],
    [
      'merges `allOf`',
      {
        allOf: [
          { type: 'object', properties: { a: text }, required: ['a'] },
          { properties: { b: text }, required: ['b'] },
        ],
      },
      { type: 'object', properties: { a: text, b: text }, required: ['a', 'b'] },
    ],
    [
      'resolves references',
      { type: 'object', properties: { a: { $ref: '#/$defs/a', description: 'A.' } }, $defs: { a: { type: 'string' } } },
      { type: 'object', properties: { a: { type: 'string', description: 'A.' } } },
    ],
  ])('%s', (_name, schema, expected) => {
    expect(JSON.parse(JSON.stringify(toGeminiSchema(schema)))).toEqual(expected)
  })

  it('ends for a recursive schema', () => {
    const tree = {
      $ref: '#/$defs/node',
      $defs: { node: { type: 'object', properties: { next: { $ref: '#/$defs/node' } } } },
    }
    expect(JSON.stringify(toGeminiSchema(tree)).length).toBeLessThan(1_000)
  })

  it('does not change its input', () => {
    const schema = { type: 'object', properties: { a: { type: 'string', format: 'uri' } } }
    toGeminiSchema(schema)
    expect(schema.properties.a.format).toBe('uri')
  })
})
