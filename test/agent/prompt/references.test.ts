/** Tests which references a message has, and the calls that answer them. */

import { describe, expect, it } from 'vitest'
import { planReferences } from '#agent/prompt/references.ts'

const plan = (text: string) => planReferences(text).map(({ name, input }) => ({ name, input }))
const run = (command: string) => ({ name: 'terminal', input: { command } })

describe('a reference', () => {
  it.each([
    ['Look at @file:src/a.ts.', { name: 'read_file', input: { path: 'src/a.ts' } }],
    ['(@file:a.md:12)', { name: 'read_file', input: { path: 'a.md', offset: 12, limit: 1 } }],
    ['@file:a.md:10-20?', { name: 'read_file', input: { path: 'a.md', offset: 10, limit: 11 } }],
    ['@file:"my notes.md"', { name: 'read_file', input: { path: 'my notes.md' } }],
    ['@folder:src', { name: 'search_files', input: { pattern: '*', target: 'files', path: 'src' } }],
    ['@url:https://example.com/a?b=1, please', { name: 'web_extract', input: { urls: ['https://example.com/a?b=1'] } }],
    ['as in @session:20261127_a1', { name: 'session_search', input: { session_id: '20261127_a1' } }],
    ['Review @diff!', run('git diff')],
    ['Commit @staged', run('git diff --staged')],
    ['@git:3', run('git log -p -n 3')],
    ['@git:500', run('git log -p -n 10')],
  ])('%j is answered by a call', (text, call) => {
    expect(plan(text)).toEqual([call])
  })

  it.each([
    'mail ann@file:x.org',
    'Use `@file:a.ts` here',
    '```\n@diff\n```',
    '@url:ftp://example.com/',
    '@git:0',
    '@git:all',
    '@different',
    '@file: a',
    '@ann look',
  ])('%j has none', (text) => {
    expect(plan(text)).toEqual([])
  })

  it('counts once, and at most eight are answered', () => {
    expect(plan('@diff and @diff')).toEqual([run('git diff')])
    const many = Array.from({ length: 20 }, (_, n) => `@file:f${n}`).join(' ')
    expect(planReferences(many).map(({ id }) => id)).toEqual([1, 2, 3, 4, 5, 6, 7, 8].map((n) => `reference_${n}`))
  })
})
