/** Measures the search on 3,300 tools, and tests what a question may look like. */

import { describe, expect, it } from 'vitest'
import { itInTurn } from '#test/support/long.ts'
import { sourceOf } from '../../../src/tools/search/defer-tools.ts'
import { createRanking } from '../../../src/tools/search/rank-tools.ts'
import { buildCatalogue, catalogueSize } from './catalogue.ts'

const { tools, questions, laterQuestions } = buildCatalogue()
const ranking = createRanking(tools.map((tool) => ({ ...tool, inputSchema: tool.inputSchema, source: sourceOf(tool) })))

/** The share of questions whose tool is among the first five. */
const share = (asked: typeof questions): number =>
  asked.filter(({ question, name }) => ranking.search(question, 5).includes(name)).length / asked.length

describe('3,300 tools of 75 servers', () => {
  it('have the right tool among five for at least 92 of 100 questions', () => {
    expect([tools.length, new Set(tools.map(sourceOf)).size >= 40]).toEqual([catalogueSize, true])
    expect(questions.length).toBeGreaterThanOrEqual(300)
    expect(share(questions)).toBeGreaterThanOrEqual(0.92)
  })

  itInTurn('have it also for questions that were written after the weights were chosen', () => {
    expect(laterQuestions.length).toBeGreaterThanOrEqual(60)
    expect(share(laterQuestions)).toBeGreaterThanOrEqual(0.9)
    expect(share([...questions, ...laterQuestions])).toBeGreaterThanOrEqual(0.92)
  })

  itInTurn('are searched within 20 ms', () => {
    const times = questions.map(({ question }) => {
      const startedAt = performance.now()
      ranking.search(question, 5)
      return performance.now() - startedAt
    })
    expect(times.toSorted((one, other) => one - other)[Math.floor(times.length / 2)]).toBeLessThanOrEqual(20)
  })
})

const small = createRanking([
  { name: 'mcp__wiki__read_page', source: 'wiki', description: 'Reads a page.', inputSchema: {} },
  {
    name: 'mcp__dns__add_record',
    source: 'dns',
    description: 'Adds a DNS record.',
    inputSchema: {
      type: 'object',
      properties: { kind: { type: 'string', enum: ['CNAME', 'TXT'] }, ttl: { description: 'In seconds.' } },
    },
  },
  { name: 'mcp__shop__注文一覧', source: 'shop', description: '注文の一覧を取得します。', inputSchema: {} },
  { name: 'plugin__mood__setMoodLight', source: 'mood', description: 'Stimmungslicht für Räume.', inputSchema: {} },
])

it.each([
  ['a name in camel case', 'mood light', 'plugin__mood__setMoodLight'],
  ['a value of a parameter', 'cname', 'mcp__dns__add_record'],
  ['a parameter', 'ttl', 'mcp__dns__add_record'],
  ['another form of the word', 'reading pages', 'mcp__wiki__read_page'],
  ['a misspelled word', 'wikki', 'mcp__wiki__read_page'],
  ['letters with marks', 'fur räume', 'plugin__mood__setMoodLight'],
  ['the script of the tool', '注文', 'mcp__shop__注文一覧'],
  ['the description of a parameter', 'seconds', 'mcp__dns__add_record'],
])('finds a tool by %s', (_, question, name) => {
  expect(small.search(question, 1)).toEqual([name])
})

it('prefers the tool whose whole name is asked for, and ignores how a request is put', () => {
  const tool = (name: string, description: string) => ({ name, source: '', description, inputSchema: {} })
  const ranking = createRanking([
    tool('help_display', 'Shows how to get help with orders.'),
    tool('play_song_of_artist', 'Plays a song of an artist, a song of an album or a song of a list.'),
    tool('play_song', 'Starts playback.'),
    tool('find_bus', 'Finds a bus.'),
    tool('taxi', 'Takes somebody to an address.'),
  ])
  expect(ranking.search('Could you play a song?', 1)).toEqual(['play_song'])
  expect(ranking.search('Can you help me to play a song?', 1)).toEqual(['play_song'])
  expect(ranking.search('Please find a taxi', 1)).toEqual(['taxi'])
})

it.each([
  ['nothing', ''],
  ['words that no tool has', 'xylophone zeppelin'],
  ['a script that no tool has', 'создать запись'],
  ['only small words', 'can you please do the'],
  ['a megabyte of noise', 'zq '.repeat(300_000)],
])('finds nothing for %s', (_, question) => {
  expect(small.search(question, 5)).toEqual([])
})

it('has an answer without tools', () => {
  expect(createRanking([]).search('anything', 5)).toEqual([])
})
