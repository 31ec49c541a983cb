/** Builds the word index of the search: each word with the sections that have it. */

import { Marked } from 'marked'
import { createSlugger, plainHeading } from './markdown.mjs'

const maxWordLength = 30

/** Splits a text into words as the search of the page does (site.js). */
const listWords = (text) =>
  text
    .toLowerCase()
    .split(/[^\p{L}\p{N}_]+/u)
    .filter((word) => word.length > 1 && word.length <= maxWordLength)

/** `pages`: `[{ address, text }]`. Sections are `[page, title, anchor]`; words lead to differences of section numbers. */
export function buildSearchIndex(pages) {
  const sections = []
  const words = new Map()
  const add = (word, number) => {
    if (words.has(word)) words.get(word).push(number)
    else words.set(word, [number])
  }
  for (const [at, { text }] of pages.entries())
    for (const { title, anchor, body } of listSections(text)) {
      const number = sections.push([at, title, anchor]) - 1
      for (const word of new Set(listWords(`${title} ${body}`))) add(word, number)
    }
  const sorted = [...words].toSorted(([one], [other]) => (one < other ? -1 : 1))
  return {
    pages: listTitles(pages),
    sections,
    words: Object.fromEntries(sorted.map(([word, list]) => [word, toSteps(list)])),
  }
}

/** A page of the design may have the title of a guide. */
function listTitles(pages) {
  const titles = pages.map(({ address, text }) => plainHeading(/^# (.+)$/m.exec(text)?.[1] ?? address))
  return pages.map(({ address }, at) => {
    const isTwin = address.includes('/design/') && titles.filter((title) => title === titles[at]).length > 1
    return [address, isTwin ? `${titles[at]} (design)` : titles[at]]
  })
}

/** Differences are shorter than numbers. */
const toSteps = (numbers) => numbers.map((number, at) => number - (numbers[at - 1] ?? 0))

function* listSections(text) {
  const slugOf = createSlugger()
  let section = { title: '', anchor: '', body: '' }
  for (const token of new Marked().lexer(text)) {
    if (token.type === 'heading') {
      const anchor = slugOf(token.text)
      if (section.body || section.title) yield section
      section = { title: plainHeading(token.text), anchor: token.depth === 1 ? '' : anchor, body: '' }
    } else section.body += `${token.raw}\n`
  }
  yield section
}
