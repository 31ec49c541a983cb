/** Tests what a card tells of a call in one line: its target, its plan, its goals, its diff. */

import { array, assert, constantFrom, dictionary, letrec, oneof, property } from 'fast-check'
import { describe, expect, it } from 'vitest'
import { findDiff, readDiff } from '../../web/model/diff.ts'
import { diffLines, patchBetween } from '../../web/model/line-diff.ts'
import { findMime } from '../../web/model/picture-type.ts'
import { listGoals } from '../../web/model/subagent-goals.ts'
import { readPlan, targetOf } from '../../web/model/tools.ts'

describe('the target of a call', () => {
  it.each<[string, unknown, string]>([
    ['terminal', { command: 'ls -l' }, 'ls -l'],
    ['terminal', { timeout: 3, command: '  ls\n  pwd' }, 'ls'],
    ['write_file', { content: 'long', path: 'a.txt' }, 'a.txt'],
    ['search_files', { path: '', pattern: 'x' }, 'x'],
    ['mcp', { id: 7, name: '', of: 'a' }, '7, a'],
    ['mcp', { ids: [7] }, '{"ids":[7]}'],
    ['mcp', {}, ''],
    ['mcp', null, ''],
    ['mcp', 7, ''],
    ['mcp', '{"half', '{"half'],
    ['terminal', { command: 'x'.repeat(500) }, `${'x'.repeat(160)}…`],
    ['todo', { todos: [] }, '{"todos":[]}'],
    ['todo', { todos: [{ id: '1', content: 'Read', status: 'completed' }] }, '1/1'],
    [
      'todo',
      {
        todos: [
          { id: '1', content: 'Read', status: 'completed' },
          { id: '2', content: 'Write', status: 'in_progress' },
        ],
      },
      '1/2 · Write',
    ],
    ['clarify', { choices: ['Red'], question: 'Which?' }, 'Which?'],
    ['clarify', null, ''],
  ])('of %s with %j is %j', (tool, input, target) => expect(targetOf(tool, input)).toBe(target))

  it.each<[unknown, string]>([
    [{ question: 'Which?', user_response: 'Red' }, 'Which? → Red'],
    [{ user_response: ['Red', 'Blue'] }, 'Which? → Red, Blue'],
    [{ user_response: '  x\ny' }, 'Which? → x'],
    [{ user_response: null }, 'Which?'],
    [{ error: 'nobody answered' }, 'Which?'],
    ['text', 'Which?'],
  ])('of a question whose result is %j is %j', (result, target) =>
    expect(targetOf('clarify', { question: 'Which?' }, result)).toBe(target),
  )
})

const task = { id: '1', content: 'Read', status: 'pending' }
it.each<[string, unknown, unknown, readonly unknown[] | undefined]>([
  ['the input', { todos: [task] }, undefined, [task]],
  ['the result, which is newer', { todos: [] }, { todos: [task] }, [task]],
  ['neither', {}, 'done', undefined],
  ['tasks without a text', { todos: [{ id: '1' }] }, undefined, undefined],
  ['no list', { todos: 'all' }, undefined, undefined],
])('a plan is read from %s', (_name, input, result, plan) => expect(readPlan(input, result)).toEqual(plan))

it.each<[unknown, readonly string[]]>([
  [{ goal: 'a' }, ['a']],
  [{ tasks: [{ goal: 'a' }, { goal: 'b' }] }, ['a', 'b']],
  [{ goal: 'a', tasks: [{ goal: 'b' }] }, ['b']],
  [{ tasks: [{ goal: 1 }, null, 'x'] }, ['', '', '']],
  [{}, ['']],
  [undefined, ['']],
])('the goals of %j are %j', (input, goals) => expect(listGoals(input)).toEqual(goals))

describe('the diff of a call', () => {
  it.each<[string, unknown, unknown, string | undefined]>([
    ['is that of its result', { patch: 'of the input' }, { diff: 'of the result' }, 'of the result'],
    ['is that of its input', { patch: '*** Begin Patch' }, 'ok', '*** Begin Patch'],
    ['is none when it is empty', { diff: '' }, undefined, undefined],
    [
      'is made of an edit',
      { path: 'a.txt', old_string: 'one\ntwo', new_string: 'three' },
      undefined,
      '--- a.txt\n-one\n-two\n+three',
    ],
    ['is none of half an edit', { path: 'a.txt', old_string: 'one' }, undefined, undefined],
    ['is none of other calls', { command: 'ls' }, null, undefined],
  ])('%s', (_name, input, result, diff) => expect(findDiff(input, result)).toBe(diff))

  it.each([
    ['diff --git a/a b/a', 'file'],
    ['--- a/a.txt', 'file'],
    ['+++ b/a.txt', 'file'],
    ['*** Update File: a.txt', 'file'],
    ['Index: a.txt', 'file'],
    ['==========', 'file'],
    ['@@ -1 +1 @@', 'hunk'],
    ['+added', 'added'],
    ['-removed', 'removed'],
    [' same', 'same'],
    ['', 'same'],
    ['\\ No newline at end of file', 'same'],
  ])('has the line %j as %s', (text, kind) => expect(readDiff(text)).toEqual([{ kind, text }]))

  it('has at most 5 000 lines', () => expect(readDiff('+x\n'.repeat(9_000))).toHaveLength(5_000))
})

describe('a preview', () => {
  const texts = array(constantFrom('a', 'b', 'c', ''), { maxLength: 12 }).map((lines) => lines.join('\n'))

  it('has the lines of both texts, near the change', () => {
    assert(
      property(texts, texts, (before, after) => {
        const lines = before === after ? [] : diffLines(before, after).split('\n')
        const keep = (sign: string) =>
          lines
            .filter((line) => !line.startsWith(sign))
            .map((line) => line.slice(1))
            .join('\n')
        expect(before.includes(keep('+'))).toBe(true)
        expect(after.includes(keep('-'))).toBe(true)
      }),
    )
  })

  /** RFC 7386. */
  const apply = (target: unknown, patch: unknown): unknown => {
    if (typeof patch !== 'object' || patch === null || Array.isArray(patch)) return patch
    const merged: Record<string, unknown> =
      typeof target === 'object' && target !== null && !Array.isArray(target) ? { ...target } : {}
    for (const [name, value] of Object.entries(patch)) {
      if (value === null) delete merged[name]
      else merged[name] = apply(merged[name], value)
    }
    return merged
  }
  const { settings } = letrec<{ settings: Record<string, unknown>; value: unknown }>((tie) => ({
    settings: dictionary(constantFrom('a', 'b', 'c'), tie('value'), { maxKeys: 3, noNullPrototype: true }),
    value: oneof({ maxDepth: 3 }, constantFrom<unknown>(1, 'x', true, [1], [{ a: 1 }]), tie('settings')),
  }))

  it('of settings is a merge patch that makes the one of the other', () => {
    assert(
      property(settings, settings, (before, after) => {
        const patch = patchBetween(before, after)
        expect(patch === undefined ? before : apply(before, patch)).toEqual(after)
      }),
    )
  })
})

it.each<[string, readonly number[], string, string | undefined]>([
  ['PNG', [0x89, 0x50, 0x4e, 0x47, 0], 'a.txt', 'image/png'],
  ['JPEG', [0xff, 0xd8, 0xff, 0xe0], 'a.png', 'image/jpeg'],
  ['GIF', [0x47, 0x49, 0x46, 0x38, 0x39], 'a', 'image/gif'],
  ['WebP', [...new TextEncoder().encode('RIFF....WEBPVP8 ')], 'a', 'image/webp'],
  ['WAV', [...new TextEncoder().encode('RIFF....WAVEfmt ')], 'a.webp', undefined],
  ['SVG', [...new TextEncoder().encode('<svg/>')], 'A.SVG', 'image/svg+xml'],
  ['markup under another name', [...new TextEncoder().encode('<svg/>')], 'a.html', undefined],
  ['bytes that call themselves an SVG', [0x3c, 0], 'a.svg', undefined],
  ['words that call themselves an SVG', [0x61], 'a.svg', undefined],
  ['nothing', [], 'a.png', undefined],
  ['half a mark', [0x89, 0x50], 'a.png', undefined],
])('the type of %s is found by its bytes', (_name, bytes, path, mime) =>
  expect(findMime(Uint8Array.from(bytes), path)).toBe(mime),
)
