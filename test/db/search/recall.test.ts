/** Tests that a question as a person asks it finds the right session, in several languages, and what narrows a search. */

import { beforeAll, describe, expect, it } from 'vitest'
import type { Page } from '#agent/core/history.ts'
import { userText } from '#agent/core/message.ts'
import { createD1History } from '#db/history.ts'
import { chooseKeys } from '#db/search/find-rows.ts'
import { readPeriod, weeksOf } from '#db/search/period.ts'
import { parseQuery } from '#db/search/search-query.ts'
import { applyMigrations, createPage, createRecord, database, newTenant, noonMs, toolResult } from '../fixtures.ts'

beforeAll(applyMigrations)

type Talk = { readonly said: readonly string[]; readonly questions: readonly string[] }

/** Talks about everyday things, with questions in other words and forms than the talks have. */
const talks: Readonly<Record<string, Talk>> = {
  'en-bike': {
    said: [
      "I finally sold Nora's old bicycle to the neighbour for forty euros.",
      'Nice, then the shed has room again.',
    ],
    questions: ['Who bought the bike that belonged to Nora, the bicycle?', 'What did we get for Nora’s bicycle?'],
  },
  'en-allergy': {
    said: ['The doctor says that the rash comes from penicillin.', 'I will remember that you cannot take it.'],
    questions: [
      'Which medicine am I not allowed to take because of the rash?',
      'what was it the doctor said about penicillin',
    ],
  },
  'en-server': {
    said: [
      'The staging server runs out of disk every Sunday night.',
      'Then rotate the logs of nginx before the backup.',
    ],
    questions: ['Why did the staging server have a problem on Sunday?', 'how should we fix the disks being full'],
  },
  'de-wohnung': {
    said: ['Die Wohnungen in der Gartenstraße waren uns zu laut.', 'Dann suchen wir weiter am Stadtrand.'],
    questions: ['Warum wollten wir die Wohnung in der Gartenstraße nicht nehmen?', 'Wohnung Stadtrand'],
  },
  'de-kuchen': {
    said: [
      'Für den Geburtstag meiner Mutter backe ich eine Sachertorte.',
      'Ohne Nüsse, weil Jonas sie nicht verträgt.',
    ],
    questions: ['Was backe ich zum Geburtstag von meiner Mutter?', 'Wer verträgt keine Nuss?'],
  },
  'fr-voyage': {
    said: ["Nous avons réservé l'hôtel à Lyon pour trois nuits.", 'Les billets de train sont encore à acheter.'],
    questions: ['Où est-ce que nous avons réservé un hôtel ?', "Est-ce que j'ai acheté le billet du train ?"],
  },
  'fr-chat': {
    said: ['Le vétérinaire a dit que la chatte doit manger moins.', 'Je note une demi-portion le soir.'],
    questions: ["Qu'est-ce que le vétérinaire a dit ?", 'combien de portions le soir'],
  },
  'es-jardin': {
    said: ['Plantamos tomates y pimientos en el jardín de la abuela.', 'Hay que regarlos cada mañana.'],
    questions: ['¿Qué plantamos en el jardín de mi abuela?', '¿Cuándo se riega el tomate del jardín?'],
  },
  'es-coche': {
    said: ['El mecánico cambió los frenos del coche y costó trescientos euros.', 'Guardo la factura.'],
    questions: ['¿Cuánto costaron los frenos?', '¿Dónde está la factura del coche?'],
  },
  'ru-кошка': {
    said: ['Мы купили новую кошку и назвали её Муся.', 'Не забудьте отвести её к ветеринару.'],
    questions: ['Как мы назвали кошку, когда её купили?', 'имя кошки'],
  },
  'ru-книга': {
    said: ['Я одолжил Ивану книгу о космонавтах.', 'Он вернёт её после отпуска.'],
    questions: ['Кому я дал книги про космонавта?', 'Когда Иван вернёт книгу?'],
  },
  'zh-trip': {
    said: ['我们决定五月去成都看大熊猫。', '我会先查高铁票的价格。'],
    questions: ['我们什么时候去成都看熊猫?', '高铁票多少钱?'],
  },
  'zh-recipe': {
    said: ['妈妈的红烧肉要放冰糖和八角。', '好的,我记下了这个菜谱。'],
    questions: ['妈妈做红烧肉的时候放了什么?', '红烧肉的菜谱'],
  },
  'ja-meeting': {
    said: ['来週の会議は大阪の事務所で開きます。', '資料は佐藤さんが用意します。'],
    questions: ['会議はどこで開きますか?', '誰が資料を用意しますか?'],
  },
  'ja-keyboard': {
    said: ['新しいキーボードの音がうるさいです。', '静かなスイッチに交換しましょう。'],
    questions: ['キーボードは何がうるさいのですか?', 'スイッチの交換'],
  },
  'ko-dinner': {
    said: ['토요일 저녁에 불고기를 만들기로 했어요.', '고기는 시장에서 사겠습니다.'],
    questions: ['토요일에 저녁은 무엇을 만들기로 했나요?', '고기를 어디에서 사나요?'],
  },
  'ko-password': {
    said: ['와이파이 비밀번호를 새로 바꿨어요.', '새 비밀번호는 냉장고에 붙여 두었습니다.'],
    questions: ['와이파이의 비밀번호가 어디에 있나요?', '비밀번호를 언제 바꿨어요?'],
  },
}

async function storeTalks(tenant: string) {
  const store = createD1History(database, tenant)
  let at = noonMs - 100 * 86_400_000
  for (const [id, { said }] of Object.entries(talks)) {
    at += 86_400_000
    await store.append(createRecord(id, { updatedAt: at, createdAt: at }), [createPage(1, said, { at })])
  }
  return store
}

describe('a question as it is asked', () => {
  it('finds the session first, or with few words among the first three', async () => {
    const tenant = newTenant()
    const store = await storeTalks(tenant)
    const asked = Object.entries(talks).flatMap(([id, { questions }]) =>
      questions.map((question) => ({ id, question })),
    )
    const places = await Promise.all(
      asked.map(async ({ id, question }) => {
        const hits = await store.search(question, 20)
        const ids = [...new Set(hits.map((hit) => hit.session_id))]
        return { id, question, place: ids.indexOf(id) + 1 }
      }),
    )
    expect(places.filter(({ place }) => place < 1 || place > 3)).toEqual([])
    expect(places.filter(({ place }) => place !== 1)).toEqual([])
  })
})

async function createCorpus(pages: Readonly<Record<string, Page>>, source = 'api') {
  const store = createD1History(database, newTenant())
  for (const [id, page] of Object.entries(pages))
    await store.append(createRecord(id, { source, updatedAt: page.at }), [page])
  const found = async (query: string) => (await store.search(query, 20)).map((hit) => hit.session_id)
  return { store, found }
}

const on = (day: string) => Date.parse(`${day}T12:00:00Z`)

describe('what narrows a search', () => {
  it('is a period: after, before, a month, a year, a day, and what has no match in it is left as it is', async () => {
    const { found } = await createCorpus({
      may: createPage(1, ['the deploy'], { at: on('2025-05-31') }),
      june: createPage(1, ['the deploy'], { at: on('2025-06-01') }),
      later: createPage(1, ['the deploy'], { at: on('2026-01-02') }),
    })
    expect(await found('deploy after:2025-06-01 before:2025-07')).toEqual(['june'])
    expect((await found('deploy after:2025-06')).toSorted()).toEqual(['june', 'later'])
    expect(await found('deploy before:2025-06')).toEqual(['may'])
    expect(await found('What was the deploy in June 2025?')).toEqual(['june'])
    expect(await found('der deploy im Juni 2025')).toEqual(['june'])
    expect(await found('le deploy en juin 2025')).toEqual(['june'])
    expect(await found('deploy 2025年6月')).toEqual(['june'])
    expect((await found('the deploy in 2025')).toSorted()).toEqual(['june', 'may'])
    expect(await found('deploy on 2 January 2026')).toEqual(['later'])
    expect((await found('the deploy in March 2019')).length).toBe(3)
    expect(await found('deploy after:2026-05')).toEqual([])
  })

  it('is the source, the session, the role or the person', async () => {
    const { store, found } = await createCorpus({
      group: createPage(1, [userText('Ann: the picnic is on Sunday'), 'the picnic is noted'], { at: noonMs }),
      other: createPage(1, [userText('Ben: Ann likes the picnic'), toolResult('picnic')], { at: noonMs + 1 }),
    })
    await store.append(createRecord('chat', { source: 'telegram' }), [createPage(1, ['a picnic'], { at: noonMs })])
    expect(await found('picnic source:telegram')).toEqual(['chat'])
    expect(await found('picnic session:group')).toEqual(['group'])
    expect(await found('picnic from:ann')).toEqual(['group'])
    expect(await found('from:Ben')).toEqual(['other'])
    expect(await found('picnic role:tool')).toEqual(['other'])
    expect((await store.search('picnic role:assistant', 20)).map((hit) => hit.role)).toEqual(['assistant'])
    expect(await found('zeppelin from:Ben')).toEqual([])
    expect(await found('zeppelin hangar from:Ben')).toEqual([])
    expect(await found('zeppelin picnic from:Ben')).toEqual(['other'])
    expect(await found('likes picnics from:Ben')).toEqual(['other'])
    expect(await found('picnic source:nowhere')).toEqual([])
    expect(await found('source: picnic')).toHaveLength(3)
  })

  it('is a tag or a tool of the session', async () => {
    const { store, found } = await createCorpus({ plain: createPage(1, ['a picnic', 'with Ann Lee'], { at: noonMs }) })
    const facets = { messages: 2, calls: 1, tools: { terminal: 1 } }
    const said = createPage(1, [userText('Ann Lee: a picnic'), 'yes'], { at: noonMs })
    await store.append(createRecord('tagged', { tags: ['field work', 'food'], facets }), [said])
    expect(await found('picnic tag:food')).toEqual(['tagged'])
    expect(await found('picnic tag:"field work" tool:terminal')).toEqual(['tagged'])
    expect(await found('picnic from:"Ann Lee"')).toEqual(['tagged'])
    for (const query of ['picnic tag:field', 'picnic tag:Food', 'picnic tool:term', 'picnic tag:food tool:memory'])
      expect(await found(query)).toEqual([])
    expect(await found('picnic tag:')).toHaveLength(2)
  })

  it('is all that there is: filters alone list their sessions, those that changed last first', async () => {
    const { store, found } = await createCorpus({ plain: createPage(1, ['hello'], { at: on('2025-06-01') }) })
    const facets = { messages: 2, calls: 1, tools: { terminal: 1 } }
    const append = (id: string, day: string, fields: object) =>
      store.append(createRecord(id, { tags: ['food'], updatedAt: on(day), ...fields }), [
        createPage(1, [userText('early'), 'begun'], { at: on('2025-05-01') }),
        createPage(2, [userText('late'), `ended ${id}`], { at: on(day) }),
      ])
    await append('one', '2025-06-02', { facets })
    await append('two', '2025-06-03', { source: 'telegram' })
    await append('child', '2025-06-04', { source: 'subagent' })
    expect(await found('tag:food')).toEqual(['two', 'one'])
    expect(await found('tag:food tool:terminal')).toEqual(['one'])
    expect(await found('source:telegram')).toEqual(['two'])
    expect(await found('session:one')).toEqual(['one'])
    expect(await found('after:2025-06-02')).toEqual(['two', 'one'])
    expect(await found('tag:food before:2025-06-02')).toEqual(['two', 'one'])
    expect(await found('before:2025-06-02')).toEqual(['two', 'one', 'plain'])
    expect((await store.search('tag:food', 20, 'oldest')).map((hit) => hit.session_id)).toEqual(['one', 'two'])
    expect(await store.search('tag:food', 1)).toMatchObject([
      { session_id: 'two', role: 'assistant', snippet: 'ended two' },
    ])
    expect(await store.search('tag:food role:user', 1)).toMatchObject([{ role: 'user', snippet: 'late' }])
    const other = createD1History(database, newTenant())
    for (const query of ['tag:none', 'role:user', 'tag:food -late', '(((']) expect(await found(query)).toEqual([])
    expect(await other.search('tag:food', 20)).toEqual([])
  })

  it('is a quote or a minus, whatever else is said', async () => {
    const { found } = await createCorpus({
      one: createPage(1, ['red apple pie']),
      two: createPage(1, ['apple red']),
    })
    expect(await found('"red apple" recipe')).toEqual(['one'])
    expect(await found('apple recipe -pie')).toEqual(['two'])
    expect(await found('to be or not to be apple')).toHaveLength(2)
  })
})

describe('an echo', () => {
  it('of a search, of memory or of a skill is not found, and results of other tools are', async () => {
    const result = (name: string): Page => createPage(1, ['go', { ...toolResult('zebra crossing'), name } as never])
    const { found } = await createCorpus({
      search: result('session_search'),
      memory: result('memory'),
      skill: result('skill_view'),
      terminal: result('terminal'),
    })
    expect(await found('zebra')).toEqual(['terminal'])
    expect(await found('zebra crossing')).toEqual(['terminal'])
  })
})

describe('a query', () => {
  const termsOf = (text: string) => parseQuery(text, noonMs).terms.map(({ text: term }) => term)

  it('is searched without the function words of its language', () => {
    expect(termsOf('When did Caroline go to the group?')).toEqual(['Caroline', 'go', 'group'])
    expect(termsOf("What is Anna's idea? I don't know")).toEqual(['Anna', 'idea', 'know'])
    expect(termsOf('wann war der Umzug')).toEqual(['Umzug'])
    expect(termsOf('the war of the worlds')).toEqual(['war', 'worlds'])
    expect(termsOf("l'école d’hier")).toEqual(['école', 'hier'])
    expect(termsOf('who asked the IT department')).toEqual(['asked', 'IT', 'department'])
    expect(termsOf('who is it')).toEqual(['who', 'is', 'it'])
    expect(termsOf('会議はどこで')).toEqual(['会議'])
    expect(termsOf('비밀번호는')).toEqual(['비밀', '밀번', '번호'])
  })

  it('names a period only with a year, or relative to now', () => {
    expect(readPeriod('in May I may go', noonMs)).toBe(undefined)
    expect(readPeriod('room 2025', noonMs)).toBe(undefined)
    expect(readPeriod('yesterday', noonMs)).toEqual({
      from: on('2026-11-20') - 43_200_000,
      to: on('2026-11-21') - 43_200_000,
    })
    expect(weeksOf({ from: 0, to: on('2030-01-01') })!.length).toBeLessThan(30)
  })
})

describe('the choice of rows', () => {
  const key = (session: number, n: number) => session * 2 ** 20 + n

  it('prefers rare words, and reads rows of other sessions before many of one', () => {
    const common = Array.from({ length: 50 }, (_, n) => key(1, n + 1))
    expect(chooseKeys([common, [key(2, 1)]], 1)).toEqual([key(2, 1)])
    const many = [...common, key(3, 1), key(4, 1)]
    expect(chooseKeys([many], 7)).toContain(key(3, 1))
    expect(chooseKeys([many], 7)).toContain(key(4, 1))
  })
})
