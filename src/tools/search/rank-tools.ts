/**
 * Ranks tools for a question by the words of their names, servers, descriptions and parameters (BM25 over weighted fields),
 * and by how much of a name the question has. Words that mean the same count less, misspelled ones too.
 */

import { isGeneralVerb, listAskedWords, listMeanings, listProductWords, listWords } from './words.ts'

export type RankedTool = {
  readonly name: string
  /** Names the server or plugin. */
  readonly source: string
  readonly description: string
  readonly inputSchema: object
}

export type Ranking = {
  /** The names of the best tools, best first. Empty: no word of the question is known. */
  readonly search: (question: string, limit: number) => readonly string[]
}

const fieldWeights = {
  name: 2.6,
  source: 1.8,
  description: 1,
  parameters: 0.45,
  explanations: 0.2,
  product: 2,
} as const
const k1 = 1.6
const b = 0.5
const synonymWeight = 0.5
const typoWeight = 0.7
const productWeight = 0.45
/** Words of products are postings of their own: all tools of a server have them. */
const productMark = '~'
/** A tool with less than this share of the best score is no match. */
const minShare = 0.1
/** The power of the share of the question's weight that a tool has words for. */
const coveragePower = 0.7
/** A name adds this share to a score, by the power of the part of it that the question has. */
const nameBonus = 1.5
const namePower = 3
const generalVerbWeight = 0.5
const maxDescriptionChars = 1_000
const maxExplanationChars = 1_500
const maxQuestionChars = 2_000
const maxQuestionWords = 40
const maxParameters = 60

type Posting = { readonly tool: number; readonly weight: number }
type Index = { readonly postings: ReadonlyMap<string, readonly Posting[]>; readonly lengths: readonly number[] }

export function createRanking(tools: readonly RankedTool[]): Ranking {
  const index = createIndex(tools)
  const average = index.lengths.reduce((sum, length) => sum + length, 0) / Math.max(1, tools.length)
  const rarity = (count: number) => Math.log(1 + (tools.length - count + 0.5) / (count + 0.5))
  const scorer: Scorer = { index, average, rarity }
  const alternatives = createAlternatives(index)
  const coverNames = createNameCover(tools, scorer)
  return {
    search(question, limit) {
      const words = [...new Set(listAskedWords(question.slice(0, maxQuestionChars)))].slice(0, maxQuestionWords)
      const [scores, covered] = [new Float64Array(tools.length), new Float64Array(tools.length)]
      const asked = words.map((word): AskedWord => {
        return { word, others: alternatives(word), importance: isGeneralVerb(word) ? generalVerbWeight : 1 }
      })
      let whole = 0
      for (const { best, shares, weight } of asked.map((word) => scoreWord(word, scorer))) {
        whole += weight
        for (const [tool, score] of best.entries()) {
          if (score === 0) continue
          scores[tool] = (scores[tool] ?? 0) + score
          covered[tool] = (covered[tool] ?? 0) + (shares[tool] ?? 0) * weight
        }
      }
      const named = coverNames(asked)
      const scoreOf = (tool: number) =>
        (scores[tool] ?? 0) *
        ((covered[tool] ?? 0) / whole) ** coveragePower *
        (1 + nameBonus * (named[tool] ?? 0) ** namePower)
      return selectBest(tools, scoreOf, limit)
    },
  }
}

function selectBest(tools: readonly RankedTool[], scoreOf: (tool: number) => number, limit: number): readonly string[] {
  const scored = tools.flatMap(({ name }, at) => {
    const score = scoreOf(at)
    return score > 0 ? [{ name, score }] : []
  })
  const sorted = scored.toSorted((one, other) => other.score - one.score || (one.name < other.name ? -1 : 1))
  const least = (sorted[0]?.score ?? 0) * minShare
  return sorted
    .slice(0, limit)
    .filter(({ score }) => score >= least)
    .map(({ name }) => name)
}

function createIndex(tools: readonly RankedTool[]): Index {
  const postings = new Map<string, Posting[]>()
  const lengths = tools.map((tool, at) => {
    const weights = weighWords(tool)
    for (const [word, weight] of weights) {
      const known = postings.get(word)
      if (known) known.push({ tool: at, weight })
      else postings.set(word, [{ tool: at, weight }])
    }
    return [...weights.values()].reduce((sum, weight) => sum + weight, 0)
  })
  return { postings, lengths }
}

function weighWords({ name, source, description, inputSchema }: RankedTool): ReadonlyMap<string, number> {
  const weights = new Map<string, number>()
  const add = (text: string, weight: number) => {
    // A word that a field repeats counts once more, and not more often.
    const counts = new Map<string, number>()
    for (const word of listWords(text)) counts.set(word, Math.min(2, (counts.get(word) ?? 0) + 1))
    for (const [word, count] of counts) weights.set(word, (weights.get(word) ?? 0) + weight * count ** 0.5)
  }
  add(ownName(name, source), fieldWeights.name)
  add(source, fieldWeights.source)
  for (const word of listWords(source).flatMap(listProductWords)) weights.set(productMark + word, fieldWeights.product)
  add(description.slice(0, maxDescriptionChars), fieldWeights.description)
  const { names, explanations } = listParameters(inputSchema)
  add(names.join(' '), fieldWeights.parameters)
  add(explanations.join(' ').slice(0, maxExplanationChars), fieldWeights.explanations)
  return weights
}

/** `mcp__wiki__read_page` without what all tools of its server have. */
const ownName = (name: string, source: string): string =>
  /^[a-z]+__/.test(name) ? name.split('__').slice(2).join(' ') || name : name.replace(source, ' ')

type Parameters = { readonly names: readonly string[]; readonly explanations: readonly string[] }

/** The names of parameters with the values that they may have, and their descriptions. */
function listParameters(schema: object): Parameters {
  const { properties } = schema as { readonly properties?: unknown }
  if (typeof properties !== 'object' || properties === null) return { names: [], explanations: [] }
  const [names, explanations]: [string[], string[]] = [[], []]
  for (const [name, property] of Object.entries(properties).slice(0, maxParameters)) {
    const { enum: values, description } = (property ?? {}) as {
      readonly enum?: unknown
      readonly description?: unknown
    }
    const texts = Array.isArray(values) ? values.filter((one) => typeof one === 'string').slice(0, 20) : []
    names.push(name, ...(texts as string[]))
    if (typeof description === 'string') explanations.push(description)
  }
  return { names, explanations }
}

/** By tool, the part of its name that the words of a question have, by the rarity of its words. */
function createNameCover(
  tools: readonly RankedTool[],
  { index, rarity }: Scorer,
): (asked: readonly AskedWord[]) => Float64Array {
  const names = tools.map(({ name, source }) => [...new Set(listWords(ownName(name, source)))])
  const weightOf = (word: string) => rarity(index.postings.get(word)?.length ?? 0)
  const wholes = names.map((words) => words.reduce((sum, word) => sum + weightOf(word), 0))
  const toolsOf = new Map<string, number[]>()
  for (const [tool, words] of names.entries())
    for (const word of words) {
      const known = toolsOf.get(word)
      if (known) known.push(tool)
      else toolsOf.set(word, [tool])
    }
  return (asked) => {
    const shares = new Map<string, number>()
    for (const { word, share } of asked.flatMap(({ word: one, others }) => [{ word: one, share: 1 }, ...others]))
      if (toolsOf.has(word)) shares.set(word, Math.max(share, shares.get(word) ?? 0))
    const cover = new Float64Array(tools.length)
    for (const [word, share] of shares)
      for (const tool of toolsOf.get(word) ?? [])
        cover[tool] = (cover[tool] ?? 0) + (share * weightOf(word)) / (wholes[tool] || 1)
    return cover
  }
}

type WordScore = {
  /** By tool. */
  readonly best: Float64Array
  readonly shares: Float64Array
  /** How much the word counts for the question. */
  readonly weight: number
}

type Scorer = {
  readonly index: Index
  readonly average: number
  readonly rarity: (count: number) => number
}

/** A word of the question, with those of the tools that may mean the same. */
type AskedWord = {
  readonly word: string
  readonly others: readonly Alternative[]
  readonly importance: number
}

type Alternative = { readonly word: string; readonly share: number }

/** Of a word and its alternatives only the best counts, so that many synonyms are no advantage. */
function scoreWord({ word, others, importance }: AskedWord, { index, average, rarity }: Scorer): WordScore {
  const { postings, lengths } = index
  const [best, shares] = [new Float64Array(lengths.length), new Float64Array(lengths.length)]
  const isKnown = postings.has(word)
  const own = importance * rarity(postings.get(word)?.length ?? 0)
  let weight = isKnown ? own : 0
  for (const { word: other, share } of [{ word, share: 1 }, ...others]) {
    const found = postings.get(other) ?? []
    if (!found.length) continue
    const rare = importance * rarity(found.length)
    // A rare synonym says no more than the word of the question.
    const value = share * (isKnown ? Math.min(rare, own) : rare)
    weight = Math.max(weight, value)
    for (const { tool, weight: times } of found) {
      const norm = k1 * (1 - b + (b * (lengths[tool] ?? 0)) / average)
      const score = (value * times * (k1 + 1)) / (times + norm)
      if (score <= (best[tool] ?? 0)) continue
      best[tool] = score
      shares[tool] = share
    }
  }
  return { best, shares, weight }
}

/** The words of the tools that mean nearly the same as a word, or that it misspells. */
function createAlternatives({ postings }: Index): (word: string) => readonly Alternative[] {
  const byMeaning = new Map<number, string[]>()
  const byStart = new Map<string, string[]>()
  const put = <Key>(map: Map<Key, string[]>, key: Key, word: string) => {
    const list = map.get(key)
    if (list) list.push(word)
    else map.set(key, [word])
  }
  for (const word of postings.keys()) {
    for (const meaning of listMeanings(word)) put(byMeaning, meaning, word)
    put(byStart, word.slice(0, 2), word)
  }
  return (word) => {
    const same = new Set(listMeanings(word).flatMap((meaning) => byMeaning.get(meaning) ?? []))
    same.delete(word)
    const synonyms = [...same].map((one) => ({ word: one, share: synonymWeight }))
    const known = [...synonyms, { word: productMark + word, share: productWeight }]
    if (postings.has(word) || synonyms.length || word.length < 5) return known
    const similar = (byStart.get(word.slice(0, 2)) ?? []).filter((one) => isMisspelled(word, one))
    return [...known, ...similar.map((one) => ({ word: one, share: typoWeight }))]
  }
}

/** One letter more, less, other or swapped; or the beginning of a longer word. */
function isMisspelled(word: string, known: string): boolean {
  if (known.length >= 4 && (known.startsWith(word) || word.startsWith(known))) return true
  if (Math.abs(word.length - known.length) > 1) return false
  let at = 0
  while (at < word.length && word[at] === known[at]) at++
  const [rest, other] = [word.slice(at), known.slice(at)]
  const swapped = `${rest.charAt(1)}${rest.charAt(0)}${rest.slice(2)}`
  return [
    rest.slice(1) === other.slice(1),
    rest.slice(1) === other,
    rest === other.slice(1),
    swapped === other,
  ].includes(true)
}
