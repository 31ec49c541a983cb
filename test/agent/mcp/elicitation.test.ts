/** Tests which questions of servers people see, and which answers fit them. */

import { describe, expect, it } from 'vitest'
import { readElicitation, readElicitationAnswer } from '#agent/mcp/elicitation.ts'

const formOf = (properties: object, message = 'Fill this in.') => ({
  mode: 'form',
  message,
  requestedSchema: { type: 'object', properties, required: Object.keys(properties) },
})

const readForm = (properties: object, message?: string) => readElicitation('wiki', formOf(properties, message))

function answer(properties: object, given: Parameters<typeof readElicitationAnswer>[1]) {
  const read = readForm(properties)
  if ('declined' in read) throw new Error(read.declined)
  return readElicitationAnswer(read.elicitation, given)
}

describe('a form', () => {
  it.each([
    ['password', {}],
    ['apiKey', {}],
    ['access_token', {}],
    ['userPin', {}],
    ['code', { title: 'One-time code' }],
    ['value', { description: 'The number of your card: card number' }],
    ['Passwort', {}],
  ])('with the field %s %j is declined', (name, more) => {
    expect(readForm({ [name]: { type: 'string', ...more } })).toEqual({ declined: 'it asks for a secret' })
  })

  it.each([['Enter your password to go on'], ['Which API key shall I use?']])(
    'is declined for its message %j',
    (message) => {
      expect(readForm({ value: { type: 'string' } }, message)).toEqual({ declined: 'it asks for a secret' })
    },
  )

  it.each([
    ['pinned', 'Shall it be pinned?'],
    ['compass', 'Which way?'],
    ['keyboard', 'Which layout?'],
    ['city', 'Where?'],
  ])('with the harmless field %s is shown', (name, message) => {
    expect(readForm({ [name]: { type: 'string' } }, message)).toHaveProperty('elicitation')
  })

  it.each([
    ['nested fields', { a: { type: 'object' } }, 'its field "a" is no plain value'],
    [
      'too many fields',
      Object.fromEntries(Array.from({ length: 31 }, (_, n) => [`f${n}`, { type: 'string' }])),
      'more than 30',
    ],
    ['a huge text', { a: { type: 'string', description: 'x'.repeat(20_000) } }, 'larger than 16 KiB'],
  ])('with %s is declined', (_, properties, reason) => {
    expect(JSON.stringify(readForm(properties))).toContain(JSON.stringify(reason).slice(1, -1))
  })

  it('shows hidden characters of the server', () => {
    const read = readForm({ city: { type: 'string' } }, 'Wh\u200bere?')
    expect('question' in read && read.question).not.toContain('\u200b')
  })

  it('offers buttons for one choice', () => {
    expect(readForm({ meal: { enum: ['fish', 'rice'] } })).toMatchObject({ choices: ['fish', 'rice', 'Decline'] })
    expect(readForm({ sure: { type: 'boolean' } })).toMatchObject({ choices: ['true', 'false', 'Decline'] })
  })
})

describe('an answer to a form', () => {
  it.each([
    [{ n: { type: 'integer' } }, '7', { n: 7 }],
    [{ ok: { type: 'boolean' } }, 'Yes', { ok: true }],
    [{ day: { type: 'string', format: 'date' } }, '2026-02-03', { day: '2026-02-03' }],
    [{ a: { type: 'string' }, b: { type: 'number' } }, 'a: x\nB = 2.5', { a: 'x', b: 2.5 }],
    [{ a: { type: 'string' }, b: { type: 'number' } }, '{"a": "x", "b": 2}', { a: 'x', b: 2 }],
    [{ m: { type: 'array', items: { enum: ['x', 'y'] } } }, 'x, y', { m: ['x', 'y'] }],
    [{ m: { oneOf: [{ const: 'x', title: 'X' }] } }, 'x', { m: 'x' }],
    [{ url: { type: 'string' } }, 'https://a.example.com', { url: 'https://a.example.com' }],
  ])('for %j fits: %j', (properties, text, content) => {
    expect(answer(properties, { text })).toEqual({ answer: { action: 'accept', content } })
  })

  it.each([
    [{ n: { type: 'integer' } }, '7.5', 'must be a whole number'],
    [{ n: { type: 'number', maximum: 3 } }, '7', 'must be at most 3'],
    [{ day: { type: 'string', format: 'date' } }, 'soon', 'must be a valid date'],
    [{ mail: { type: 'string', format: 'email' } }, 'ada', 'must be a valid email'],
    [{ meal: { enum: ['fish', 'rice'] } }, 'meat', 'must be one of fish, rice'],
    [{ m: { type: 'array', minItems: 2, items: { enum: ['x', 'y'] } } }, 'x', 'needs at least 2'],
    [{ a: { type: 'string' }, b: { type: 'string' } }, 'hello', 'The field "a" is missing'],
  ])('for %j does not fit: %j', (properties, text, error) => {
    expect(JSON.stringify(answer(properties, { text }))).toContain(JSON.stringify(error).slice(1, -1))
  })

  it('never compiles a pattern of the server', () => {
    const field = { type: 'string', pattern: '(a+)+$' }
    expect(answer({ a: field }, { text: `${'a'.repeat(60)}!` })).toHaveProperty('answer.content')
  })

  it('has no other fields', () => {
    expect(answer({ a: { type: 'string' } }, { action: 'accept', content: { a: 'x', __proto2: 1 } })).toHaveProperty(
      'error',
    )
  })

  it.each([
    ['decline', 'decline'],
    ['/cancel', 'cancel'],
    ['Decline.', 'decline'],
  ])('%j refuses', (text, action) => {
    expect(answer({ a: { type: 'string' } }, { text })).toEqual({ answer: { action } })
  })
})
