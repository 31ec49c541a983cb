import { describe, expect, it } from 'vitest'
import { contextFileCap, foldersTo, listContextFiles } from '#agent/prompt/context-files.ts'

const folder = (path: string, ...names: string[]) => ({ path, names: new Set(names) })

describe('listContextFiles()', () => {
  const everything = [
    '.cursorrules',
    'CLAUDE.md',
    'AGENTS.md',
    'AGENTS.override.md',
    'HERMES.md',
    '.hermes.md',
    'README.md',
  ]

  it('orders the kinds by precedence', () => {
    expect(listContextFiles([folder('/w', ...everything)])).toEqual([
      ['/w/.hermes.md'],
      ['/w/AGENTS.override.md'],
      ['/w/AGENTS.md'],
      ['/w/CLAUDE.md'],
      ['/w/.cursorrules'],
    ])
  })

  it.each([
    ['nothing', [folder('/w', 'README.md')], []],
    ['names in small letters', [folder('/w', 'agents.md')], [['/w/agents.md']]],
    ['one of two spellings', [folder('/w', 'agents.md', 'AGENTS.md')], [['/w/AGENTS.md']]],
    ['a folder that is the root', [folder('/', 'CLAUDE.md')], [['/CLAUDE.md']]],
    [
      'the AGENTS.md of every folder from the root down',
      [folder('/w', 'AGENTS.md'), folder('/w/a'), folder('/w/a/b', 'AGENTS.md')],
      [['/w/AGENTS.md', '/w/a/b/AGENTS.md']],
    ],
    [
      'only the closest of another kind',
      [folder('/w', 'CLAUDE.md', '.cursorrules'), folder('/w/a', 'CLAUDE.md')],
      [['/w/a/CLAUDE.md'], ['/w/.cursorrules']],
    ],
    [
      'an override of any folder before the chain',
      [folder('/w', 'AGENTS.md', 'AGENTS.override.md'), folder('/w/a', 'AGENTS.md')],
      [['/w/AGENTS.override.md'], ['/w/AGENTS.md', '/w/a/AGENTS.md']],
    ],
  ])('finds %s', (_case, folders, paths) => {
    expect(listContextFiles(folders)).toEqual(paths)
  })
})

it.each([
  [undefined, 20_000],
  [128_000, 30_720],
  [32_000, 20_000],
  [20_000, 20_000],
  [8_000, 8_000],
  [1_000_000, 240_000],
  [10_000_000, 500_000],
])('a window of %d tokens has room for %d characters', (window, chars) => {
  expect(contextFileCap(window)).toBe(chars)
})

it.each([
  ['/w', ['/w']],
  ['/w/a/b', ['/w', '/w/a', '/w/a/b']],
  ['/tmp/a', ['/w']],
  ['/web', ['/w']],
])('the folders to %s are %j', (path, folders) => {
  expect(foldersTo('/w', path)).toEqual(folders)
})
