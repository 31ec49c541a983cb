/** Tests what the composer completes at its caret, and how. */

import { describe, expect, it } from 'vitest'
import { complete, findTrigger, insert } from '../../web/model/completion.ts'

/** `|` is the caret. */
const read = (written: string) => {
  const caret = written.indexOf('|')
  return { text: written.replace('|', ''), caret }
}
const find = (written: string) => {
  const { text, caret } = read(written)
  return findTrigger(text, caret)
}

describe('the word at the caret', () => {
  it.each([
    ['/|', 'command', ''],
    ['/he|', 'command', 'he'],
    ['/he|lp me', 'command', 'he'],
    ['@|', 'file', ''],
    ['read @src/a|', 'file', 'src/a'],
    ['read\n@a|', 'file', 'a'],
    ['read @file:src/a|', 'file', 'src/a'],
    ['read @file:"my|', 'file', 'my'],
  ])('%j asks for a %s', (written, kind, query) => {
    expect(find(written)).toMatchObject({ kind, query })
  })

  it.each(['|', '|/help', '/help |', 'say /he|', '/home/me|', 'a@b|', 'me|', ' /he|'])(
    '%j asks for none',
    (written) => {
      expect(find(written)).toBeUndefined()
    },
  )
})

it.each([
  ['/he|', 'help', '/help |'],
  ['see @re| now', 'docs/read me.md', 'see @file:"docs/read me.md" |now'],
  ['@a|', 'src/a.ts', '@file:src/a.ts |'],
  ['@file:a|', 'src/a.ts', '@file:src/a.ts |'],
])('%j with %j chosen is %j', (written, chosen, done) => {
  const { text, caret } = read(written)
  const trigger = findTrigger(text, caret)
  expect(trigger && complete(text, trigger, chosen)).toEqual(read(done))
})

it.each([
  ['|', 'hello', 'hello|'],
  ['say| now', 'hello', 'say hello| now'],
  ['say |now', 'hello', 'say hello| now'],
])('into %j go the words %j: %j', (written, words, done) => {
  const { text, caret } = read(written)
  expect(insert(text, words, caret)).toEqual(read(done))
})
