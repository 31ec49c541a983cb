/** Reads the comments of a sheet. New programs store threads, and a copy of each thread for old programs. */

import { openPart, type Part } from './package-parts.ts'
import type { WorkBudget } from './work-budget.ts'
import type { ZipArchive } from './zip-archive.ts'
import { getAttribute, listTags, parseXml, type Tag } from './xml-tokens.ts'

type CellComment = { readonly cell: string; readonly author: string; text: string }

type CommentsToRead = { readonly persons: ReadonlyMap<string, string>; readonly budget: WorkBudget }

/** The names of the authors by the ids of threads. */
export async function readPersons(archive: ZipArchive, workbook: Part): Promise<ReadonlyMap<string, string>> {
  const persons = new Map<string, string>()
  for (const part of await openAll(archive, workbook, 'person'))
    for (const { attributes } of listTags(part.xml, 'person'))
      persons.set(getAttribute(attributes, 'id') ?? '', getAttribute(attributes, 'displayName') ?? '')
  return persons
}

/** Returns a line for each comment. */
export async function readComments(
  archive: ZipArchive,
  sheet: Part,
  { persons, budget }: CommentsToRead,
): Promise<readonly string[]> {
  const threads: CellComment[] = []
  for (const part of await openAll(archive, sheet, 'threadedComment'))
    threads.push(...(await parseComments(part.xml, { type: 'threadedComment', budget, persons })))
  const inThreads = new Set(threads.map(({ cell }) => cell))
  const notes: CellComment[] = []
  for (const part of await openAll(archive, sheet, 'comments'))
    notes.push(...(await parseComments(part.xml, { type: 'comments', budget, persons })))
  return [...notes.filter(({ cell }) => !inThreads.has(cell)), ...threads].flatMap(({ cell, author, text }) => {
    const line = text.replaceAll(/\s+/g, ' ').trim()
    if (line === '' || !budget.print(line.length + cell.length + author.length + 20)) return []
    return [`[comment at ${cell}] ${author === '' || line.startsWith(author) ? '' : `${author}: `}${line}`]
  })
}

async function openAll(archive: ZipArchive, { relations }: Part, type: string): Promise<readonly Part[]> {
  const targets = [...relations.values()].filter((relation) => relation.type === type).map(({ target }) => target)
  const parts = await Promise.all(targets.map((target) => openPart(archive, target)))
  return parts.filter((part) => part !== undefined)
}

type CommentState = {
  readonly persons: ReadonlyMap<string, string>
  readonly authors: string[]
  readonly found: CellComment[]
  field: 'author' | 'text' | undefined
}

/** The text of a thread has no runs. */
const textTags = { comments: 't', threadedComment: 'text' } as const

async function parseComments(
  xml: string,
  { type, budget, persons }: { readonly type: keyof typeof textTags } & CommentsToRead,
): Promise<readonly CellComment[]> {
  const state: CommentState = { persons, authors: [], found: [], field: undefined }
  for (const token of parseXml(xml)) {
    const pause = budget.step()
    if (pause) await pause
    if (token.kind === 'text') addText(state, token.text)
    else if (token.kind === 'close') state.field = undefined
    else openTag(state, token, textTags[type])
  }
  return state.found
}

function openTag(state: CommentState, { name, attributes, empty }: Tag, textTag: string): void {
  const { persons, authors, found } = state
  if (name === 'author') {
    authors.push('')
    if (!empty) state.field = 'author'
  } else if (name === textTag && !empty) state.field = 'text'
  else if (name === 'comment' || name === 'threadedComment') {
    const author = authors[Number(getAttribute(attributes, 'authorId') ?? -1)]
    const person = persons.get(getAttribute(attributes, 'personId') ?? '')
    found.push({ cell: getAttribute(attributes, 'ref') ?? '', author: author ?? person ?? '', text: '' })
  }
}

function addText({ authors, found, field }: CommentState, text: string): void {
  const comment = found.at(-1)
  if (field === 'author') authors[authors.length - 1] += text
  else if (field === 'text' && comment) comment.text += text
}
