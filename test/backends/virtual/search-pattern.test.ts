import { describe, expect, it } from 'vitest'
import { parseSearchPattern, requiredText } from '#backends/virtual/search-pattern.ts'
import { glob } from '#backends/virtual/glob.ts'

describe('a glob', () => {
  it.each([
    ['*.ts', 'a/b.ts', true],
    ['*.ts', 'a/b.tsx', false],
    ['*.{ts,md}', 'x.md', true],
    ['src/*.ts', 'src/a.ts', true],
    ['src/*.ts', 'src/d/a.ts', false],
    ['src/**/*.ts', 'src/d/e/a.ts', true],
    ['src/**/*.ts', 'src/a.ts', true],
    ['./src/*', 'src/a', true],
    ['[!a]?.c', 'bx.c', true],
    ['[!a]?.c', 'ax.c', false],
    ['a+b(1).txt', 'a+b(1).txt', true],
    ['{a}', '{a}', true],
    ['a.{b,{c,d}}', 'a.d', true],
    ['**', 'a/b/c', true],
    ['a/**', 'a/b/c', true],
    ['**/c', 'a/b/c', true],
    ['**/c', 'a/b/xc', false],
    ['a/**/c', 'ab/c', false],
    ['a/**b', 'a/x/yb', true],
    ['*', '', true],
    ['a*b*c', 'aXbYbZc', true],
    ['[a-c]/[!/]', 'b/x', true],
    ['a\\b', 'a\\b', true],
    ['?', '/', false],
  ])('%s of %s: %s', (pattern, path, matches) => expect(glob(pattern)(path)).toBe(matches))

  it.each(['{a,b}'.repeat(40), `x${'*a'.repeat(300)}`, 'a'.repeat(2_000)])(
    'that is too complex is rejected: %s',
    (pattern) => expect(() => glob(pattern)).toThrow(/too complex/),
  )
  it.each([`${'*a'.repeat(60)}b`, `${'**/'.repeat(60)}b`, `${'*a**'.repeat(30)}/b`])(
    'is matched in one pass: %s',
    (pattern) => expect(glob(`x/${pattern}`)(`x/${'a/'.repeat(500)}${'a'.repeat(2_000)}`)).toBe(false),
  )
  it('reports an invalid set of characters', () => expect(() => glob('[z-a]')).toThrow(/\[z-a\] is not a valid set/))
})

describe('a search pattern', () => {
  it('that is too long is rejected', () =>
    expect(() => parseSearchPattern('['.repeat(2_001))).toThrow('The pattern is too long.'))

  it.each([
    '(a+)+$',
    '((a+))+b',
    '(?:(?:a+))+b',
    '(?<n>(?:a+)){2,}b',
    '((\\w+)\\s?)*$',
    '(a|a)*b',
    '(a|b|ab)*c',
    '(a|ab){2,}',
    '(a?a)*b',
    '(?:x+)*',
    '(.|\\s)*x',
    '("(\\\\.|[^"])*")+x',
    '(,.*)+$',
    '(,+a?)*b',
    '([a-z]+[x-z])+1',
    '(\\w\\2?)+(x)',
    '(?=((a+)+b))a',
    '(?i)(a|A)*b',
    '(?i)([A-Z][a-z]+)+1',
    '(\\u0061|a)*b',
    '([\\w-.]|-)*b',
    '((a{2,3}){2}){2,}b',
  ])('that could run forever is refused: %s', (pattern) => expect(() => parseSearchPattern(pattern)).toThrow(/forever/))

  it.each([
    'foo.*bar',
    '(foo|bar)+',
    '\\(a+\\)+',
    '(ab)+',
    'a{2,}',
    '^import .* from',
    '[(a+)]+',
    '(\\w*\\s)*x',
    '(\\w+,)+\\w+',
    '\\B(?=(\\d{3})+(?!\\d))',
    '^[\\w.+-]+@[\\w-]+(\\.[\\w-]+)+$',
    '"(?:[^"\\\\]|\\\\.)*"',
    '(?:(?!-->)[^\\n])*',
    '([A-Z][a-z]+)+',
    '(é|è)+',
    '(?:\\d+\\d+;)*',
    '(a+)?(b+)?',
    'x{,3}(y{z}+)+',
    '(?:<[^>]*>|[^<>])*',
  ])('is taken: %s', (pattern) => expect(parseSearchPattern(pattern).source).toBe(pattern))

  it.each([
    ['needle\\d+', 'needle'],
    ['import (.*) from', 'import '],
    ['colou?r', 'colo'],
    ['a|b', ''],
    ['(?i)needle', ''],
    ['\\bword\\b', 'word'],
    ['[abc]def*', 'de'],
    ['x{2}yz', 'yz'],
    ['a{12345}', ''],
    ['\\x41BCD', ''],
    ['(ab)?cd', 'cd'],
    ['(a)b(c)', ''],
  ])('%s is only looked for in files with %j', (pattern, text) => expect(requiredText(pattern)).toBe(text))
})
