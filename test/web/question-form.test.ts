/** Tests the form of an MCP server: its fields from a schema, and the answer from what was written. */

import { describe, expect, it } from 'vitest'
import { contentOf, initialValues, readForm } from '../../web/model/question-form.ts'

const fieldsOf = (properties: object, required: readonly string[] = []) =>
  readForm({ type: 'object', properties, required })
const answer = (properties: object, written: object = {}, required: readonly string[] = []) => {
  const fields = fieldsOf(properties, required)
  return contentOf(fields, { ...initialValues(fields), ...written })
}

describe('a field', () => {
  it.each([
    [{ type: 'string' }, 'text', 'text'],
    [{ type: 'string', format: 'email' }, 'text', 'email'],
    [{ type: 'string', format: 'uri' }, 'text', 'url'],
    [{ type: 'string', format: 'date' }, 'text', 'date'],
    [{ type: 'string', format: 'date-time' }, 'text', 'datetime-local'],
    [{ type: 'string', format: 'unknown' }, 'text', 'text'],
    [{ type: 'integer' }, 'number', 'number'],
    [{ type: 'number' }, 'number', 'number'],
    [{ type: 'boolean' }, 'boolean', 'text'],
    [{ type: 'string', enum: ['a'] }, 'choice', 'text'],
    [{ type: 'string', oneOf: [{ const: 'a' }] }, 'choice', 'text'],
    [{ type: 'array', items: { enum: ['a'] } }, 'choices', 'text'],
  ])('of %j is %s, of type %s', (schema, kind, type) => {
    expect(fieldsOf({ it: schema })).toMatchObject([{ name: 'it', label: 'it', kind, type, isRequired: false }])
  })

  it('has its title, its limits, and the words of its choices', () => {
    const age = { type: 'integer', title: 'Age', description: 'In years', minimum: 1, maximum: 9 }
    const meal = { type: 'string', oneOf: [{ const: 'f', title: 'Fish' }, { const: 'r' }] }
    const size = { type: 'string', enum: ['s', 'm'], enumNames: ['Small'] }
    expect(fieldsOf({ age, meal, size }, ['age'])).toMatchObject([
      { label: 'Age', description: 'In years', isRequired: true, limits: { min: 1, max: 9 }, step: '1' },
      {
        options: [
          ['f', 'Fish'],
          ['r', 'r'],
        ],
      },
      {
        options: [
          ['s', 'Small'],
          ['m', 'm'],
        ],
      },
    ])
  })
})

describe('the answer', () => {
  it('has the types of the fields, and leaves empty ones out', () => {
    const properties = {
      name: { type: 'string' },
      age: { type: 'integer' },
      sure: { type: 'boolean' },
      meals: { type: 'array', items: { enum: ['f', 'r'] } },
      when: { type: 'string', format: 'date-time' },
    }
    expect(answer(properties)).toEqual({ sure: false })
    const at = '2026-02-03T10:00:00.000Z'
    const [, , , , when] = fieldsOf({ ...properties, when: { ...properties.when, default: at } })
    const written = { name: ' Ada ', age: '7', sure: true, meals: ['f'], when: when?.initial }
    expect(answer(properties, written)).toEqual({ name: 'Ada', age: 7, sure: true, meals: ['f'], when: at })
  })

  it('begins with the defaults, which can be emptied', () => {
    const properties = {
      name: { type: 'string', default: 'Ada' },
      age: { type: 'number', default: 3 },
      sure: { type: 'boolean', default: true },
      meals: { type: 'array', items: { enum: ['f', 'r'] }, default: ['r'] },
    }
    expect(answer(properties)).toEqual({ name: 'Ada', age: 3, sure: true, meals: ['r'] })
    expect(answer(properties, { name: '', meals: [] })).toEqual({ name: '', age: 3, sure: true, meals: [] })
  })
})
