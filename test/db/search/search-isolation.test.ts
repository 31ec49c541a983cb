/** Tests that rows of other tenants influence neither the hits of a search nor their order. */

import * as fc from 'fast-check'
import { beforeAll, describe, expect, it } from 'vitest'
import { createD1History } from '#db/history.ts'
import { applyMigrations, createPage, createRecord, database, newTenant, noonMs } from '../fixtures.ts'
import { isLong } from '#test/support/long.ts'

beforeAll(applyMigrations)

type Document = { readonly title: string | null; readonly text: string }

const minuteMs = 60_000

/** Stores one session for each document. `between` runs before each of them. */
async function store(tenant: string, documents: readonly Document[], between = async (_i: number) => {}) {
  const history = createD1History(database, tenant)
  for (const [i, { title, text }] of documents.entries()) {
    await between(i)
    const at = noonMs + i * minuteMs
    const record = createRecord(`s${i}`, { title, updatedAt: at })
    await history.append(record, [createPage(1, [text, 'ok'], { at })])
  }
}

const texts = (...all: readonly string[]): Document[] => all.map((text) => ({ title: null, text }))

const order = async (tenant: string, query: string, limit = 20) =>
  (await createD1History(database, tenant).search(query, limit)).map((hit) => hit.session_id)

describe('the order of the own results', () => {
  const own = texts('the alpha report', 'the bravo report', 'the alpha bravo of them', 'alpha alpha bravo')

  it.each([
    ['words', 'alpha OR bravo'],
    ['words', 'report alpha OR report bravo'],
    ['parts of words', 'lph OR rav'],
  ])('is the same whatever others wrote, for %s', async (_kind, query) => {
    const tenant = newTenant()
    await store(tenant, own)
    const alone = await order(tenant, query)
    await store(newTenant(), texts(...Array.from({ length: 30 }, (_, i) => `alpha ${i}`)))
    expect(await order(tenant, query)).toEqual(alone)
    await store(newTenant(), texts(...Array.from({ length: 90 }, (_, i) => `bravo ${i}`)))
    expect(await order(tenant, query)).toEqual(alone)
  })
})

describe('with and without any rows of others', () => {
  const words = ['alpha', 'bravo', 'charlie', 'alphabet', 'deltas', '天気', 'echo', 'foxtrot', 'golf', 'hotel', 'india']
  const word = fc.constantFrom(...words)
  const text = fc.array(word, { minLength: 1, maxLength: 6 }).map((words) => words.join(' '))
  const document = fc.record({ title: fc.option(text), text })
  const corpus = fc.array(document, { minLength: 2, maxLength: 8 })
  /** Others say a few words often, which changes how rare each word is over all tenants. */
  const othersCorpus = fc
    .array(document, { minLength: 1, maxLength: 2 })
    .map((documents) => Array.from({ length: 12 }, (_, i) => documents[i % documents.length]!))
  const term = fc.oneof(
    word,
    fc.constantFrom('alph*', 'lph', 'harl', '"alpha bravo"', '-charlie', 'OR', '天', 'delta', 'eltas'),
  )
  const query = fc.oneof(
    fc.array(term, { minLength: 1, maxLength: 4 }).map((terms) => terms.join(' ')),
    fc.shuffledSubarray(words, { minLength: 2, maxLength: 4 }).map((terms) => terms.join(' OR ')),
  )

  it('answers are the same, order included', async () => {
    const sorts = [undefined, 'newest', 'oldest'] as const
    const check = async (own: readonly Document[], others: readonly Document[], queries: readonly string[]) => {
      const answer = (tenant: string) => {
        const history = createD1History(database, tenant)
        const all = queries.flatMap((q) => [1, 3, 20].flatMap((limit) => sorts.map((sort) => ({ q, limit, sort }))))
        return Promise.all(all.map(({ q, limit, sort }) => history.search(q, limit, sort)))
      }
      const [alone, among, other] = [newTenant(), newTenant(), newTenant()]
      await store(alone, own)
      const expected = await answer(alone)
      await store(other, others)
      expect(await answer(alone)).toEqual(expected)
      // The same rows among those of others have other keys.
      await store(among, own, (i) => store(`${other}-${i}`, others.slice(0, 2)))
      expect(await answer(among)).toEqual(expected)
    }
    await fc.assert(fc.asyncProperty(corpus, othersCorpus, fc.array(query, { minLength: 1, maxLength: 3 }), check), {
      numRuns: isLong ? 15 : 3,
    })
  }, 60_000)
})
