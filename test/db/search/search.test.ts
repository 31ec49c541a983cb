import * as fc from 'fast-check'
import { beforeAll, describe, expect, it } from 'vitest'
import type { Page } from '#agent/core/history.ts'
import { userText } from '#agent/core/message.ts'
import { createD1History } from '#db/history.ts'
import { database, applyMigrations, newTenant, noonMs, createPage, createRecord, toolResult } from '../fixtures.ts'
import { countD1, newRowCount } from '../../support/billed-rows.ts'
import { isLong, itInTurn } from '../../support/long.ts'

beforeAll(applyMigrations)

/** Creates a tenant with one session for each text. `found` returns the sessions that a query finds. */
async function createCorpus(...texts: readonly (string | Page)[]) {
  const store = createD1History(database, newTenant())
  for (const [i, text] of texts.entries())
    await store.append(createRecord(`s${i}`), [typeof text === 'string' ? createPage(1, [text, 'ok']) : text])
  const found = async (query: string) =>
    (await store.search(query, 20)).map((hit) => Number(hit.session_id.slice(1))).toSorted()
  return { store, found }
}

describe('a query', () => {
  it('finds sessions with any of the words in any form, and those with all of them first', async () => {
    const { found, store } = await createCorpus(
      'deploying the workers',
      'the deploy failed',
      'worker deployed yesterday',
    )
    expect(await found('deploy worker')).toEqual([0, 1, 2])
    expect((await store.search('deploy worker', 20)).at(-1)?.session_id).toBe('s1')
    expect(await found('"deploy" "worker"')).toEqual([0, 2])
    expect(await found('deploy AND worker')).toEqual([0, 2])
    expect(await found('DEPLOYED')).toEqual([0, 1, 2])
  })

  it('supports phrases, OR, NOT, minus and a star', async () => {
    const { found } = await createCorpus('red apple pie', 'apple red', 'green pear', 'kubernetes cluster')
    expect(await found('"red apple"')).toEqual([0])
    expect(await found('“red apple”')).toEqual([0])
    expect(await found('pear OR pie')).toEqual([0, 2])
    expect(await found('apple -pie')).toEqual([1])
    expect(await found('apple NOT pie')).toEqual([1])
    expect(await found('apple AND red')).toEqual([0, 1])
    expect(await found('kubern*')).toEqual([3])
    expect(await found('-apple')).toEqual([])
    expect(await found('   ')).toEqual([])
  })

  it('searches at most four prefixes of three letters or more; others are words', async () => {
    const { found } = await createCorpus(
      'ta take talk',
      'ta',
      'alpha beta gamma delta epsilon',
      'alp bet gam del eps',
      'epsilon',
    )
    expect(await found('tal*')).toEqual([0])
    expect(await found('ta*')).toEqual([0, 1])
    expect(await found('bet* gam* del* eps*')).toEqual([2, 3, 4])
    expect(await found('alp* bet* gam* del* eps*')).toEqual([2, 3])
  })

  it('treats operators of FTS5 as words', async () => {
    const { found } = await createCorpus('use tenant:"x" NEAR(a b)', 'chat-send')
    expect(await found('tenant:x')).toEqual([0])
    expect(await found('NEAR(a b)')).toEqual([0])
    expect(await found('chat-send')).toEqual([1])
    expect(await found('{text}:chat')).toEqual([1])
  })

  it('finds one or two characters in scripts without spaces', async () => {
    const { found } = await createCorpus(
      '明日の天気は晴れです',
      '今天天气很好',
      '서울의 날씨',
      'พรุ่งนี้อากาศดี',
      'キーボード',
    )
    expect(await found('天気')).toEqual([0])
    expect(await found('天')).toEqual([0, 1])
    expect(await found('晴れ')).toEqual([0])
    expect(await found('날씨')).toEqual([2])
    expect(await found('อากาศ')).toEqual([3])
    expect(await found('ボード')).toEqual([4])
    expect(await found('天 晴')).toEqual([0, 1])
    expect(await found('天 AND 晴')).toEqual([0])
    expect(await found('気天')).toEqual([])
  })

  it('finds Latin words next to other scripts, and full-width letters', async () => {
    const { found } = await createCorpus('今日はPythonの入門', 'ＦＵＬＬ width', '用Docker部署')
    expect(await found('python')).toEqual([0])
    expect(await found('Python入門')).toEqual([0])
    expect(await found('Pythonの入門')).toEqual([0])
    expect(await found('full')).toEqual([1])
    expect(await found('docker 部署')).toEqual([2])
  })

  it('finds parts of typed words, and ignores accents', async () => {
    const { found } = await createCorpus('my postgresql server', 'Café crème', 'a 🎉🎉🎉 party')
    expect(await found('gresq')).toEqual([0])
    expect(await found('cafe')).toEqual([1])
    expect(await found('🎉🎉🎉')).toEqual([2])
    expect(await found('gresq server -party')).toEqual([0])
  })

  it('finds titles and returns the first message', async () => {
    const { store } = await createCorpus()
    await store.append(createRecord('t', { title: '東京旅行' }), [createPage(1, ['hello', 'hi'])])
    await store.append(createRecord('u', { title: 'Quarterly budget' }), [])
    expect(await store.search('東京', 5)).toEqual([
      {
        session_id: 't',
        title: '東京旅行',
        source: 'api',
        message_id: 'm1',
        role: 'user',
        marks: { isPrivate: true },
        at: new Date(noonMs).toISOString(),
        snippet: '«東京»旅行',
      },
    ])
    expect((await store.search('uarterl', 5)).map((hit) => hit.snippet)).toEqual([
      '«Quarterly» budget'.replace('«Quarterly»', 'Q«uarterl»y'),
    ])
    await store.append(createRecord('t', { title: 'Osaka' }), [])
    expect(await store.search('東京', 5)).toEqual([])
    await store.append(createRecord('t'), [])
    expect(await store.search('osaka', 5)).toEqual([])
  })

  it('omits summaries, nudges and pages that are not indexed', async () => {
    const { found } = await createCorpus(
      createPage(1, [userText('zebra', 'summary'), userText('zebra', 'nudge')]),
      createPage(1, ['zebra'], { indexed: false }),
      createPage(1, [userText('zebra', 'webhook')]),
    )
    expect(await found('zebra')).toEqual([2])
    expect(await found('zebr')).toEqual([])
  })

  it('searches the first 8 KB of a message and 2 KB of a tool result', async () => {
    const { found } = await createCorpus(
      createPage(1, [`${'x '.repeat(4000)} early ${'x '.repeat(4000)} late`]),
      createPage(1, ['go', toolResult(`${'x '.repeat(900)} early ${'x '.repeat(900)} late`)]),
    )
    expect(await found('early')).toEqual([0, 1])
    expect(await found('late')).toEqual([])
  })

  itInTurn('accepts any input', async () => {
    const { store } = await createCorpus('some text to look at')
    const pieces = [
      '"',
      '*',
      '-',
      '(',
      ')',
      ':',
      '^',
      'OR',
      'AND',
      'NOT',
      'NEAR',
      'text',
      '{',
      '}',
      '+',
      '\0',
      ' ',
      '天',
      "'",
      ',',
      '＂',
      '\ud800',
    ]
    const queries = fc.oneof(
      fc.string({ unit: 'binary', maxLength: 30 }),
      fc.array(fc.constantFrom(...pieces), { maxLength: 25 }).map((list) => list.join('')),
      fc.array(fc.constantFrom(...pieces), { maxLength: 25 }).map((list) => list.join(' ')),
    )
    await fc.assert(
      fc.asyncProperty(queries, async (query) => {
        expect((await store.search(query, 5)).length).toBeLessThanOrEqual(5)
      }),
      { numRuns: isLong ? 300 : 60 },
    )
    expect(await store.search('a '.repeat(5000), 5)).toEqual([])
    expect(await store.search(`"${'天'.repeat(5000)}"`, 5)).toEqual([])
  })
})

describe('a hit', () => {
  it('is the best message of its page, with the matches marked', async () => {
    const { store } = await createCorpus(
      createPage(1, [
        'look at the logs',
        'The deploy failed: the token of the deploy job expired.',
        toolResult('deploy token expired'),
      ]),
    )
    expect(await store.search('deploys token', 5)).toEqual([
      {
        session_id: 's0',
        title: null,
        source: 'api',
        message_id: 'm2',
        role: 'assistant',
        marks: { isForeign: true, isPrivate: true },
        at: new Date(noonMs + 1).toISOString(),
        snippet: 'The «deploy» failed: the «token» of the «deploy» job expired.',
      },
    ])
  })

  it('shows about 200 characters around a match inside a long page', async () => {
    const text = `${'before '.repeat(500)}the Needle is here ${'after '.repeat(500)}`
    const { store } = await createCorpus(createPage(1, [text, toolResult('y'.repeat(200_000))]))
    const [hit] = await store.search('needle', 5)
    expect(hit?.message_id).toBe('m1')
    expect(hit?.snippet).toMatch(/^…before .*the «Needle» is here after .*…$/)
    expect(hit!.snippet.length).toBeLessThan(220)
  })

  it('is sorted by time on request, also in an old session', async () => {
    const store = createD1History(database, newTenant())
    const now = Date.now()
    const long = Array.from({ length: 3 }, (_, i) =>
      createPage(i * 2 + 1, [`tea ${i}`], { at: now - (100 - i * 49.9) * 86_400_000 }),
    )
    await store.append(createRecord('long'), long)
    for (let i = 0; i < 8; i++)
      await store.append(createRecord(`n${i}`), [createPage(1, ['tea'], { at: now - (60 + i) * 86_400_000 })])
    const times = async (sort: 'newest' | 'oldest', limit: number) =>
      (await store.search('tea', limit, sort)).map((hit) => `${hit.session_id}/${hit.message_id}`)
    expect(await times('newest', 2)).toEqual(['long/m5', 'n7/m1'])
    expect((await times('newest', 20)).slice(0, 3)).toEqual(['long/m5', 'long/m3', 'n0/m1'])
    expect((await times('oldest', 20))[0]).toBe('long/m1')
  })

  it('for a single word ranks the exact form first, then later messages', async () => {
    const { store } = await createCorpus(
      createPage(1, ['deployed today'], { at: noonMs + 5000 }),
      createPage(1, ['deploy it'], { at: noonMs }),
      createPage(1, ['deploy it again'], { at: noonMs + 1000 }),
    )
    const order = (await store.search('deploy', 20)).map((hit) => hit.session_id)
    expect(order).toEqual(['s2', 's1', 's0'])
  })

  it('for a single word is among the latest messages, also in an old session', async () => {
    const store = createD1History(database, newTenant())
    const now = Date.now()
    await store.append(createRecord('long'), [
      createPage(1, ['tea'], { at: now - 100 * 86_400_000 }),
      createPage(3, ['tea'], { at: now }),
    ])
    for (let i = 0; i < 5; i++)
      await store.append(createRecord(`n${i}`), [createPage(1, ['tea'], { at: now - (60 + i) * 86_400_000 })])
    const hits = (await store.search('tea', 3)).map((hit) => `${hit.session_id}/${hit.message_id}`)
    expect(hits).toEqual(['long/m3', 'n3/m1', 'n4/m1'])
    const all = (await store.search('tea', 20)).map((hit) => `${hit.session_id}/${hit.message_id}`)
    expect([all.length, new Set(all).size, all.at(-1)]).toEqual([7, 7, 'long/m1'])
  })

  it('takes one query for a word, also when a recent message of an old session comes before newer sessions', async () => {
    let queries = 0
    const counting = new Proxy(database, {
      get: (target, name) => {
        if (name === 'prepare') queries++
        const value: unknown = Reflect.get(target, name)
        return typeof value === 'function' ? value.bind(target) : value
      },
    })
    const store = createD1History(counting, newTenant())
    const [now, day] = [Date.now(), 86_400_000]
    const appendOne = (id: string, at: number) =>
      store.append(createRecord(id, { updatedAt: at }), [createPage(1, ['tea'], { at })])
    const search = async (limit: number) => {
      queries = 0
      const found = (await store.search('tea', limit)).map((hit) => hit.session_id)
      return [queries, ...found]
    }
    await appendOne('long', now - 100 * day)
    for (let i = 0; i < 3; i++) await appendOne(`n${i}`, now - (60 - i) * day)
    expect(await search(2)).toEqual([1, 'n2', 'n1'])
    await store.append(createRecord('long', { updatedAt: now }), [createPage(3, ['tea'], { at: now })])
    expect(await search(2)).toEqual([1, 'long', 'n2'])
    expect(await search(20)).toEqual([1, 'long', 'n2', 'n1', 'n0', 'long'])
    for (let i = 0; i < 2; i++) await appendOne(`today${i}`, now)
    expect((await search(2)).toSorted()).toEqual([1, 'today0', 'today1'])
  })

  it('for several words ranks the message with more of them first', async () => {
    const { found, store } = await createCorpus(
      'tea',
      `kettle ${'and so on '.repeat(20)}`,
      'the kettle for tea',
      'tea tea',
    )
    expect((await store.search('kettle OR tea', 20))[0]?.session_id).toBe('s2')
    expect(await found('kettle AND tea')).toEqual([2])
  })

  it('inside a longer word appears only when no whole word matches', async () => {
    const { found } = await createCorpus('a postgresql server', 'postgres here')
    expect(await found('postgres')).toEqual([1])
    expect(await found('postgres*')).toEqual([0, 1])
    expect(await found('ostgres')).toEqual([0, 1])
  })

  it('takes one query for a word, and for several words one for their rows and one for each kind of chosen rows', async () => {
    let queries = 0
    const counting = new Proxy(database, {
      get: (target, name) => {
        if (name === 'prepare') queries++
        const value: unknown = Reflect.get(target, name)
        return typeof value === 'function' ? value.bind(target) : value
      },
    })
    const store = createD1History(counting, newTenant())
    await store.append(createRecord('s'), [createPage(1, ['tea and biscuits'])])
    for (const [query, sort, times] of [
      ['tea', undefined, 1],
      ['tea', 'newest', 1],
      ['tea', 'oldest', 1],
      ['tea biscuits', undefined, 3],
      ['iscui', undefined, 2],
    ] as const) {
      queries = 0
      expect((await store.search(query, 20, sort)).length, query).toBe(1)
      expect(queries, `${query} ${sort ?? ''}`).toBe(times)
    }
  })

  it('for several words is the best of older matches too, not only one of the latest', async () => {
    const { store } = await createCorpus(
      'the token of the deploy: deploy token',
      'a quokka',
      ...Array.from({ length: 9 }, (_, i) => `a token ${'and other things '.repeat(9)} for the deploy ${i}`),
      ...Array.from({ length: 30 }, (_, i) => `weather ${i}`),
    )
    expect((await store.search('deploy token', 3))[0]?.session_id).toBe('s0')
    expect((await store.search('weather OR quokka', 3))[0]?.session_id).toBe('s1')
    expect((await store.search('weather OR missing', 20)).length).toBe(20)
  })

  it('for several words prefers titles, then messages, then results of tools', async () => {
    const { store } = await createCorpus(
      createPage(1, ['look', toolResult('deploy token')]),
      'deploy token',
      createPage(1, ['look', 'ok']),
    )
    await store.append(createRecord('s2', { title: 'deploy token' }), [])
    expect((await store.search('deploy token', 20)).map((hit) => hit.session_id)).toEqual(['s2', 's1', 's0'])
  })

  it('reads three rows for each result of one word; for several words also the keys of each', async () => {
    const count = newRowCount()
    const store = createD1History(countD1(database, count), newTenant())
    for (let i = 0; i < 60; i++)
      await store.append(createRecord(`s${i}`, { title: i < 20 ? `Common title ${i}` : null }), [
        createPage(1, [`common text number${i % 15 === 0 ? ' rarely' : ''}${i}`, 'ok']),
      ])
    for (const [maxRows, query, sort] of [
      [60, 'common'],
      [60, 'common', 'newest'],
      [60, 'common', 'oldest'],
      [60, 'rarely*'],
      [60, 'ommo'],
      [60, 'number1*'],
      [60, 'missing'],
      [60, 'title'],
      [120, 'number0 OR title', 'newest'],
      [420, 'text common'],
      [300, 'common OR missing'],
    ] as const) {
      count.read = 0
      const hits = await store.search(query, 20, sort)
      expect(count.read, `${query} ${sort ?? ''}: ${hits.length} hits`).toBeLessThanOrEqual(maxRows)
    }
  })
})
