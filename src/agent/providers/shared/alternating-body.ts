/**
 * Transcripts for providers that know two roles only: what stands between two answers is one message of the
 * user, results first. The part that does not change any more is rendered and encoded once; marks for the
 * provider's cache move with every call and are put into the last messages only.
 */

import { type Message, userText } from '../../model/message.ts'
import { GrowingBytes } from './utf8-builder.ts'

/** One block of content as JSON. */
export type Block = { readonly json: string; readonly markable: boolean }

/** How a dialect writes a message. One object per way of writing: renderings are kept by it. */
export type Writer = { readonly blocks: (message: Message) => readonly Block[] }

type Group = { readonly role: 'user' | 'assistant'; readonly blocks: readonly Block[] }

export type Marks = {
  /** How many of the last messages are marked. */
  readonly count: number
  readonly mark: (json: string) => string
}

/** Marked messages are rendered anew with every call, and only they: no more than this many are ever marked. */
const loose = 3

type Kept = { readonly head: string; readonly writer: Writer; readonly bytes: GrowingBytes; upTo: number }
const kept = new WeakMap<readonly Message[], Kept>()

export type Parts = {
  /** Everything up to the first message. */
  readonly head: string
  /** What comes behind the last message. */
  readonly foot: string
  /** A sanitised transcript; it may grow from call to call. */
  readonly clean: readonly Message[]
  /** Said for this call only. */
  readonly behind: readonly Message[]
  readonly marks?: Marks | undefined
}

export function alternatingBody({ head, foot, clean, behind, marks }: Parts, writer: Writer): Uint8Array {
  const settled = startOfGroup(clean, loose)
  const before = settledBytes(head, clean, settled, writer)
  const last = groupsOf(clean.slice(settled), writer)
  const ending = joined(marks ? marked(last, marks) : last, behind, writer)
  if (!settled && ending[0]?.role !== 'user') ending.unshift(opening(writer))
  // Many models refuse to go on with words of their own.
  if (ending.at(-1)?.role === 'assistant') ending.push({ role: 'user', blocks: writer.blocks(userText('Go on.')) })
  return before.with(`${settled ? ',' : ''}${ending.map(written).join(',')}${foot}`)
}

const opening = (writer: Writer): Group => ({
  role: 'user',
  blocks: writer.blocks(userText('(What was said before is not kept.)')),
})

/** Where the group begins that is the n-th from the end. */
function startOfGroup(clean: readonly Message[], n: number): number {
  let at = clean.length
  for (let left = n; left > 0 && at > 0; left--) {
    at--
    if (clean[at]?.role === 'assistant') continue
    while (at > 0 && clean[at - 1]?.role !== 'assistant') at--
  }
  return at
}

function settledBytes(head: string, clean: readonly Message[], settled: number, writer: Writer): GrowingBytes {
  let known = kept.get(clean)
  if (known?.head !== head || known.writer !== writer || known.upTo > settled) {
    known = { head, writer, bytes: new GrowingBytes(), upTo: 0 }
    known.bytes.append(head)
    kept.set(clean, known)
  }
  if (known.upTo === settled) return known.bytes
  const groups = groupsOf(clean.slice(known.upTo, settled), writer)
  if (!known.upTo && groups[0]?.role !== 'user') groups.unshift(opening(writer))
  known.bytes.append(`${known.upTo ? ',' : ''}${groups.map(written).join(',')}`)
  known.upTo = settled
  return known.bytes
}

function groupsOf(messages: readonly Message[], writer: Writer): Group[] {
  return joined([], messages, writer)
}

function joined(groups: readonly Group[], messages: readonly Message[], writer: Writer): Group[] {
  const all = [...groups]
  for (const message of messages) {
    const role = message.role === 'assistant' ? 'assistant' : 'user'
    const blocks = writer.blocks(message)
    const last = all.at(-1)
    if (last?.role === role) all[all.length - 1] = { role, blocks: [...last.blocks, ...blocks] }
    else all.push({ role, blocks })
  }
  return all
}

function marked(groups: readonly Group[], { count, mark }: Marks): readonly Group[] {
  return groups.map((group, at) => {
    if (at < groups.length - count) return group
    const place = group.blocks.findLastIndex(({ markable }) => markable)
    if (place < 0) return group
    const blocks = group.blocks.map((block, i) => (i === place ? { ...block, json: mark(block.json) } : block))
    return { ...group, blocks }
  })
}

const written = ({ role, blocks }: Group): string =>
  `{"role":"${role}","content":[${blocks.map(({ json }) => json).join(',')}]}`
