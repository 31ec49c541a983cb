/** Tests which messages are commands, and how their words are read. */

import { describe, expect, it } from 'vitest'
import { isPathName, parseCommand, splitWords } from '#agent/policy/slash-command/parse-command.ts'

describe('parseCommand', () => {
  it.each([
    ['/help', { name: 'help', text: '' }],
    ['  /Title  My talk \n', { name: 'title', text: 'My talk' }],
    ['/goal first line\nsecond line', { name: 'goal', text: 'first line\nsecond line' }],
    ['/new\nname', { name: 'new', text: 'name' }],
    ['/reload_skills', { name: 'reload-skills', text: '' }],
    ['/help@my_bot now', { name: 'help', text: 'now', bot: 'my_bot' }],
    ['/etc is full', { name: 'etc', text: 'is full' }],
  ])('reads %j as a command', (message, command) => {
    expect(parseCommand(message)).toEqual(command)
  })

  it.each([
    'hello',
    'see /help',
    '/',
    '//',
    '// a comment',
    '//help',
    '/ help',
    '/etc/hosts is wrong',
    '/1 is a number',
    '/help!',
    '/a.b',
    '/über',
    `/${'a'.repeat(65)}`,
    '',
  ])('reads %j as a message', (message) => {
    expect(parseCommand(message)).toBeUndefined()
  })

  it('takes linear time for hostile texts', () => {
    const begin = performance.now()
    for (const text of [`/${'a-'.repeat(50_000)}`, `/a@${'b'.repeat(100_000)}`, '/'.repeat(100_000)]) parseCommand(text)
    expect(performance.now() - begin).toBeLessThan(1_000)
  })
})

describe('isPathName', () => {
  it.each([
    ['etc', true],
    ['tmp', true],
    ['helpp', false],
    ['goal', false],
  ])('answers for %j: %j', (name, isPath) => {
    expect(isPathName(name)).toBe(isPath)
  })
})

describe('splitWords', () => {
  it.each([
    ['', []],
    ['a  b\tc\nd', ['a', 'b', 'c', 'd']],
    ['"a b" c', ['a b', 'c']],
    ["'a b' c", ['a b', 'c']],
    ['""', ['']],
    ['"say \\"hi\\"" x', ['say "hi"', 'x']],
    ["'a\\b'", ['a\\b']],
    ['a\\ b c', ['a b', 'c']],
    ["don't stop", ["don't", 'stop']],
    ['"no end', ['"no', 'end']],
    ['"a"b c', ['"a"b', 'c']],
    ['5" pipe', ['5"', 'pipe']],
    ['a\\', ['a\\']],
  ])('splits %j', (text, words) => {
    expect(splitWords(text)).toEqual(words)
  })
})
