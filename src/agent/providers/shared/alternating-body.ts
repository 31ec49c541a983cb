/**
 * Renders a request body for providers with only two roles. Everything between two assistant messages becomes one
 * user message, tool results first.
 */

import { type Message, userText } from '#agent/core/message.ts'
import { PrefixCache } from './prefix-cache.ts'
import { Utf8Builder } from './utf8-builder.ts'

/** One content block as JSON. */
export type RenderedBlock = { readonly json: string; readonly isMarkable: boolean }

/** Renders messages for a dialect. Rendered bytes are cached by this object, so equal options need the same object. */
export type BlockRenderer = {
  readonly render: (message: Message) => readonly RenderedBlock[]
  /** The names of the API for the role of the model and the content of a message. */
  readonly form?: { readonly assistant: string; readonly content: string }
}

const usualForm = { assistant: 'assistant', content: 'content' }

type BlockGroup = { readonly role: 'user' | 'assistant'; readonly blocks: readonly RenderedBlock[] }

export type CacheMarks = {
  /** The number of messages at the end that get a cache mark. */
  readonly messageCount: number
  readonly addMark: (json: string) => string
}

/**
 * The number of groups at the end that are rendered for every request. Cache marks move with every request, and
 * `CacheMarks.messageCount` is never above this.
 */
const maxMarkedGroups = 3

/** The bytes of the messages that cannot change any more, up to `messageCount`. */
type BodyPrefix = {
  readonly head: string
  readonly renderer: BlockRenderer
  readonly bytes: Utf8Builder
  messageCount: number
}
const stablePrefixes = new PrefixCache<BodyPrefix>()

export type BodyParts = {
  /** The JSON before the first message. */
  readonly head: string
  /** The JSON after the last message. */
  readonly foot: string
  /** A sanitised transcript. It may grow between requests. */
  readonly transcript: readonly Message[]
  /** Messages for this request only. */
  readonly trailing: readonly Message[]
  readonly cacheMarks?: CacheMarks | undefined
}

/** Encodes the stable prefix once per transcript, and only the last groups for every request. */
export function renderAlternatingBody(parts: BodyParts, renderer: BlockRenderer): Uint8Array {
  const { head, foot, transcript, trailing, cacheMarks } = parts
  const stableCount = findGroupStart(transcript, maxMarkedGroups)
  const prefix = encodeStablePrefix(head, transcript, stableCount, renderer)
  const lastGroups = appendToGroups([], transcript.slice(stableCount), renderer)
  const groups = appendToGroups(cacheMarks ? addMarks(lastGroups, cacheMarks) : lastGroups, trailing, renderer)
  if (!stableCount && groups[0]?.role !== 'user') groups.unshift(renderOpening(renderer))
  // Many models refuse a request that ends with an assistant message.
  if (groups.at(-1)?.role === 'assistant') groups.push({ role: 'user', blocks: renderer.render(userText('Go on.')) })
  const rendered = groups.flatMap((group, at) => [at || stableCount ? ',' : '', ...renderGroup(group, renderer)])
  return stablePrefixes.render(transcript, prefix, [...rendered, foot])
}

const renderOpening = (renderer: BlockRenderer): BlockGroup => ({
  role: 'user',
  blocks: renderer.render(userText('(What was said before is not kept.)')),
})

/** Returns the index of the first message of the n-th group from the end. */
function findGroupStart(transcript: readonly Message[], n: number): number {
  let at = transcript.length
  for (let left = n; left > 0 && at > 0; left--) {
    at--
    if (transcript[at]?.role === 'assistant') continue
    while (at > 0 && transcript[at - 1]?.role !== 'assistant') at--
  }
  return at
}

function encodeStablePrefix(
  head: string,
  transcript: readonly Message[],
  stableCount: number,
  renderer: BlockRenderer,
): BodyPrefix {
  let prefix = stablePrefixes.get(transcript)
  if (prefix?.head !== head || prefix.renderer !== renderer || prefix.messageCount > stableCount) {
    prefix = { head, renderer, bytes: new Utf8Builder(), messageCount: 0 }
    prefix.bytes.append(head)
  }
  if (prefix.messageCount < stableCount) appendStableGroups(prefix, transcript, stableCount)
  return prefix
}

/** Renders and encodes group by group: a conversation with images would else be held several times. */
function appendStableGroups(prefix: BodyPrefix, transcript: readonly Message[], stableCount: number): void {
  const { renderer, bytes } = prefix
  while (prefix.messageCount < stableCount) {
    const from = prefix.messageCount
    const end = findGroupEnd(transcript, from, stableCount)
    const groups = appendToGroups([], transcript.slice(from, end), renderer)
    if (!from && groups[0]?.role !== 'user') groups.unshift(renderOpening(renderer))
    bytes.appendAll(groups.flatMap((group, at) => [from || at ? ',' : '', ...renderGroup(group, renderer)]))
    prefix.messageCount = end
  }
}

/** Returns the index behind the group that begins at `from`. */
function findGroupEnd(transcript: readonly Message[], from: number, limit: number): number {
  const isAnswer = transcript[from]?.role === 'assistant'
  let end = from + 1
  while (end < limit && (transcript[end]?.role === 'assistant') === isAnswer) end++
  return end
}

function appendToGroups(
  groups: readonly BlockGroup[],
  messages: readonly Message[],
  renderer: BlockRenderer,
): BlockGroup[] {
  const all = [...groups]
  for (const message of messages) {
    const role = message.role === 'assistant' ? 'assistant' : 'user'
    const blocks = renderer.render(message)
    const last = all.at(-1)
    if (last?.role === role) all[all.length - 1] = { role, blocks: [...last.blocks, ...blocks] }
    else all.push({ role, blocks })
  }
  return all
}

function addMarks(groups: readonly BlockGroup[], { messageCount, addMark }: CacheMarks): readonly BlockGroup[] {
  return groups.map((group, at) => {
    if (at < groups.length - messageCount) return group
    const markAt = group.blocks.findLastIndex(({ isMarkable }) => isMarkable)
    if (markAt < 0) return group
    const blocks = group.blocks.map((block, i) => (i === markAt ? { ...block, json: addMark(block.json) } : block))
    return { ...group, blocks }
  })
}

/** Returns the parts of the JSON. Blocks with images are not joined, because that would copy them. */
const renderGroup = ({ role, blocks }: BlockGroup, { form = usualForm }: BlockRenderer): string[] => [
  `{"role":"${role === 'user' ? role : form.assistant}","${form.content}":[`,
  ...blocks.map(({ json }, at) => (at ? `,${json}` : json)),
  ']}',
]
