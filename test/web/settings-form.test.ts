/** Tests the form of the settings: fields from a schema, and patches from what was changed. */

import { describe, expect, it } from 'vitest'
import * as z from 'zod'
import { settingsSchema } from '#agent/core/settings.ts'
import { readDiff, findDiff } from '../../web/model/diff.ts'
import { findMime } from '../../web/model/picture-type.ts'
import { listFields, readValue, type Schema, showValue, toPatch, valueAt } from '../../web/model/settings-form.ts'

const schema = {
  type: 'object',
  properties: {
    model: { type: 'object', properties: { default: { type: 'string', description: 'Which' } } },
    memory: { type: 'object', properties: { enabled: { type: 'boolean' }, limit: { type: 'integer' } } },
    mode: { enum: ['smart', 'off'] },
    rules: { type: 'array' },
    limits: { $ref: '#/components/schemas/Limits' },
  },
}
const named = { Limits: { type: 'object', properties: { jobs: { type: 'integer' } } } }

it('lists a field for every leaf of the schema', () => {
  expect(listFields(schema, named).map(({ path, kind }) => `${path} ${kind}`)).toEqual([
    'model.default text',
    'memory.enabled boolean',
    'memory.limit number',
    'mode choice',
    'rules json',
    'limits.jobs number',
  ])
})

it('offers the levels of thinking that the description names', () => {
  const settings = z.toJSONSchema(settingsSchema, { io: 'input', unrepresentable: 'any' }) as Schema
  const effort = listFields(settings).find(({ path }) => path === 'model.reasoning_effort')
  expect(effort?.kind).toBe('choice')
  const [named = ''] = effort?.description.split('.') ?? []
  expect(named.split(/, | or /)).toEqual(effort?.choices)
})

it('reads and shows values of every kind, and removes what is empty', () => {
  const [text, flag, number, , list] = listFields(schema)
  if (!text || !flag || !number || !list) throw new Error('no fields')
  expect([readValue(text, 'a/b'), readValue(flag, 'false'), readValue(number, '3'), readValue(list, '[1]')]).toEqual([
    'a/b',
    false,
    3,
    [1],
  ])
  expect(readValue(text, ' ')).toBe(null)
  expect(() => readValue(list, '[')).toThrow('JSON')
  expect(showValue(list, [1])).toBe('[\n  1\n]')
  expect(showValue(text, undefined)).toBe('')
  expect(valueAt({ memory: { limit: 3 } }, 'memory.limit')).toBe(3)
  expect(valueAt({}, 'memory.limit')).toBeUndefined()
})

it('sends only what was changed', () => {
  expect(
    toPatch(
      new Map<string, unknown>([
        ['memory.enabled', true],
        ['memory.limit', null],
        ['mode', 'off'],
      ]),
    ),
  ).toEqual({
    memory: { enabled: true, limit: null },
    mode: 'off',
  })
})

describe('diffs', () => {
  it('marks lines by their signs', () => {
    expect(readDiff('--- a\n+++ b\n@@ -1 +1 @@\n-x\n+y\n z').map(({ kind }) => kind)).toEqual([
      'file',
      'file',
      'hunk',
      'removed',
      'added',
      'same',
    ])
  })

  it('are found in results and in edits', () => {
    expect(findDiff({}, { diff: '+x' })).toBe('+x')
    expect(findDiff({ path: 'a', old_string: 'x', new_string: 'y\nz' }, 'ok')).toBe('--- a\n-x\n+y\n+z')
    expect(findDiff({ command: 'ls' }, { output: '' })).toBeUndefined()
  })
})

it('knows pictures by their first bytes, not by their names', () => {
  expect(findMime(new Uint8Array([0x89, 0x50, 0x4e, 0x47]), 'a.txt')).toBe('image/png')
  expect(findMime(new TextEncoder().encode('<html>'), 'a.png')).toBeUndefined()
  expect(findMime(new TextEncoder().encode('<svg/>'), 'a.svg')).toBe('image/svg+xml')
})
