import { describe, expect, it } from 'vitest'
import { toGeminiSchema } from '../../../../src/agent/providers/openai/gemini-schema.ts'

const text = { type: 'string' }

describe('a schema for Gemini', () => {
  it.each<readonly [string, object, object]>([
    [
      'has only what is known there',
      {
        $schema: 'https://json-schema.org/draft/2020-12/schema',
        type: 'object',
        properties: { at: { type: 'string', description: 'Where.', default: 'x', examples: ['y'], minLength: 1 } },
        required: ['at', 'gone'],
        additionalProperties: false,
      },
      { type: 'object', properties: { at: { type: 'string', description: 'Where.', minLength: 1 } }, required: ['at'] },
    ],
    ['has one type', { type: ['string', 'null'] }, { type: 'string', nullable: true }],
    ['says null apart', { anyOf: [text, { type: 'null' }] }, { type: 'string', nullable: true }],
    ['has one word for a choice', { oneOf: [text, { type: 'integer' }] }, { anyOf: [text, { type: 'integer' }] }],
    ['lists texts', { type: 'string', enum: ['a', 'b'] }, { type: 'string', enum: ['a', 'b'] }],
    ['lists one text for a constant', { const: 'a' }, { type: 'string', enum: ['a'] }],
    ['lists no numbers', { type: 'integer', enum: [1, 2] }, { type: 'integer' }],
    ['knows one format', { type: 'string', format: 'date-time' }, { type: 'string', format: 'date-time' }],
    ['leaves other formats out', { type: 'string', format: 'uri' }, text],
    ['has items in lists', { type: 'array', items: { type: 'string', format: 'uri' } }, { type: 'array', items: text }],
    ['has items in lists of anything', { type: 'array' }, { type: 'array', items: {} }],
    [
      'is one of several',
      {
        allOf: [
          { type: 'object', properties: { a: text }, required: ['a'] },
          { properties: { b: text }, required: ['b'] },
        ],
      },
      { type: 'object', properties: { a: text, b: text }, required: ['a', 'b'] },
    ],
    [
      'refers to nothing',
      { type: 'object', properties: { a: { $ref: '#/$defs/a', description: 'A.' } }, $defs: { a: { type: 'string' } } },
      { type: 'object', properties: { a: { type: 'string', description: 'A.' } } },
    ],
  ])('%s', (_name, schema, expected) => {
    expect(JSON.parse(JSON.stringify(toGeminiSchema(schema)))).toEqual(expected)
  })

  it('ends, even when it refers to itself', () => {
    const tree = {
      $ref: '#/$defs/node',
      $defs: { node: { type: 'object', properties: { next: { $ref: '#/$defs/node' } } } },
    }
    expect(JSON.stringify(toGeminiSchema(tree)).length).toBeLessThan(1_000)
  })

  it('is never the one that was given', () => {
    const schema = { type: 'object', properties: { a: { type: 'string', format: 'uri' } } }
    toGeminiSchema(schema)
    expect(schema.properties.a.format).toBe('uri')
  })
})
