/**
 * Reads what the Responses API sends back: items that open, grow and close, and how it all ended. Items are
 * told apart by their place in the output; their ids are not the same in every event of every server.
 */

import { createParser } from 'eventsource-parser'
import { Dropped, type Reply } from '../../model/dialect.ts'
import type { AssistantMessage } from '../../model/message.ts'
import { noUsage, type Usage } from '../../model/usage.ts'
import { readArguments } from '../shared/call-arguments.ts'
import { ErrorInBody } from './chat-stream.ts'
import { type Body, failureOf, type Item, type StreamEvent, usageOf } from './responses-events.ts'
import { type PhaseSeal, reasoningSeal, sealedBy } from './responses-input.ts'
import { asText, boundedEvents, type Listening, readReply, Room } from '../shared/read-body.ts'

/** `from`: the host that answers, which alone can read its reasoning again. */
export async function readResponse(
  response: Response,
  { hear, pulse, sleep }: Listening,
  from?: string,
): Promise<Reply> {
  const gathered = new Gathered(hear, from)
  if (response.headers.get('content-type')?.includes('application/json')) {
    gathered.end((await response.json()) as Body)
    return gathered.reply()
  }
  const parser = createParser({
    onEvent: ({ data, event }) => {
      if (data === '[DONE]') gathered.hasEnded = true
      else pulse(gathered.take(JSON.parse(data) as StreamEvent, event) ? 'answer' : 'keep-alive')
    },
    onComment: () => pulse('keep-alive'),
    ...boundedEvents,
  })
  return readReply(response.body, gathered, { feed: asText((text) => parser.feed(text)), told: ErrorInBody, sleep })
}

/** Where an item stands. What nobody asked for (searches of the provider and the like) is `other`. */
type Slot = {
  readonly kind: 'message' | 'reasoning' | 'call' | 'other'
  readonly id: string | undefined
  /** Text, thinking or arguments. */
  text: string
  refusal: string
  name: string
  callId: string
  /** Which of the two ways to tell thoughts this item uses: both would say the same twice. */
  way: string | undefined
  /** The item as it was at its end. */
  item: Item | undefined
}

const kinds: Readonly<Record<string, Slot['kind']>> = {
  message: 'message',
  reasoning: 'reasoning',
  function_call: 'call',
}

const endings = new Set(['response.completed', 'response.incomplete', 'response.failed', 'response.cancelled'])

class Gathered {
  /** The list of events was ended, with or without a word about the answer. */
  hasEnded = false
  readonly #hear: Listening['hear']
  readonly #from: string | undefined
  readonly #room = new Room()
  readonly #slots: Slot[] = []
  readonly #places = new Map<number, Slot>()
  #ended: { readonly reason: string | undefined } | undefined
  #usage: Usage = noUsage

  constructor(hear: Listening['hear'], from: string | undefined) {
    this.#hear = hear
    this.#from = from
  }

  /** The provider has said that the answer ended. */
  get isComplete(): boolean {
    return this.#ended !== undefined
  }

  get isClosed(): boolean {
    return this.hasEnded || this.isComplete
  }

  get inCall(): boolean {
    return this.#slots.some(({ kind }) => kind === 'call')
  }

  /** Whether there was anything of the answer in it. */
  take(event: StreamEvent, name: string | undefined): boolean {
    const type = event.type ?? name ?? ''
    if (type === 'error' || (event.error && !event.response)) throw failureOf(event.error ?? event)
    if (endings.has(type)) this.end({ status: type.slice('response.'.length), ...event.response })
    else if (type === 'response.output_item.added') this.#open(event)
    else if (type === 'response.output_item.done') this.#close(event.item ?? {}, this.#slotOf(event, event.item))
    else return this.#grow(type, event)
    return true
  }

  /** Pieces of an item. */
  #grow(type: string, event: StreamEvent): boolean {
    const { delta = '' } = event
    this.#room.take(delta)
    switch (type) {
      case 'response.output_text.delta':
        this.#say(this.#slotOf(event, { type: 'message' }), delta)
        return delta !== ''
      case 'response.refusal.delta':
        this.#slotOf(event, { type: 'message' }).refusal += delta
        return delta !== ''
      case 'response.reasoning_summary_text.delta':
      case 'response.reasoning_text.delta':
        this.#think(this.#slotOf(event, { type: 'reasoning' }), type, delta)
        return delta !== ''
      case 'response.reasoning_summary_part.added': {
        const slot = this.#slotOf(event, { type: 'reasoning' })
        if (slot.text) this.#think(slot, 'response.reasoning_summary_text.delta', '\n\n')
        return true
      }
      case 'response.function_call_arguments.delta':
        this.#slotOf(event, { type: 'function_call' }).text += delta
        return delta !== ''
      case 'response.function_call_arguments.done':
        if (event.arguments) this.#slotOf(event, { type: 'function_call' }).text = event.arguments
        this.#room.take(event.arguments ?? '')
        return true
      default:
        return false
    }
  }

  #open(event: StreamEvent): Slot {
    const { item = {}, output_index: index } = event
    const slot: Slot = {
      kind: kinds[item.type ?? ''] ?? 'other',
      id: item.id ?? event.item_id,
      text: '',
      refusal: '',
      name: item.name ?? '',
      callId: item.call_id ?? '',
      way: undefined,
      item: undefined,
    }
    this.#room.takePart()
    this.#slots.push(slot)
    if (index !== undefined) this.#places.set(index, slot)
    return slot
  }

  /** The item an event speaks of: by its place, else by its id, else the last of its kind that is still open. */
  #slotOf(event: StreamEvent, item: Item | undefined): Slot {
    const { output_index: index, item_id: id = item?.id } = event
    const kind = kinds[item?.type ?? ''] ?? 'other'
    const known =
      index === undefined
        ? (this.#slots.find((slot) => id !== undefined && slot.id === id) ??
          this.#slots.findLast((slot) => slot.kind === kind && !slot.item))
        : this.#places.get(index)
    return known?.kind === kind ? known : this.#open({ ...event, item: { ...item } })
  }

  #say(slot: Slot, text: string) {
    slot.text += text
    if (text) this.#hear({ of: 'text', text })
  }

  #think(slot: Slot, way: string, text: string) {
    if (!text) return
    slot.way ??= way
    if (slot.way !== way) return
    slot.text += text
    this.#hear({ of: 'thinking', text })
  }

  /** What an item is at its end counts; of words that were heard already only the rest is heard. */
  #close(item: Item, slot: Slot) {
    this.#room.take(JSON.stringify(item))
    slot.item = item
    if (slot.kind === 'call') closeCall(slot, item)
    else if (slot.kind === 'reasoning') this.#think(slot, 'whole', thoughtsOf(item))
    else if (slot.kind === 'message') {
      const whole = textOf(item, 'text')
      if (whole.startsWith(slot.text)) this.#say(slot, whole.slice(slot.text.length))
      slot.refusal ||= textOf(item, 'refusal')
    }
  }

  end({ status, output, usage, error, incomplete_details: details }: Body) {
    if (usage) this.#usage = usageOf(usage)
    if (status === 'failed' || status === 'cancelled' || error) throw failureOf(error ?? {})
    if (!this.#slots.length) output?.forEach((item, at) => this.#close(item, this.#open({ item, output_index: at })))
    this.#ended = { reason: status === 'incomplete' ? (details?.reason ?? 'unknown') : undefined }
  }

  reply(): Reply {
    if (!this.#ended && !(this.hasEnded && this.#slots.length && this.#slots.every(({ item }) => item)))
      throw new Dropped('The connection ended before the answer did.', this.inCall)
    const content = this.#slots.flatMap((slot) => partsOf(slot, this.#from))
    return { message: { role: 'assistant', content, stop: this.#stop() }, usage: this.#usage }
  }

  #stop(): AssistantMessage['stop'] {
    const reason = this.#ended?.reason
    if (reason === 'content_filter' || this.#slots.some(({ refusal }) => refusal)) return 'refused'
    if (reason !== undefined) return 'length'
    return this.inCall ? 'tools' : 'end'
  }
}

const textOf = ({ content }: Item, field: 'text' | 'refusal'): string =>
  (content ?? []).map((part) => part[field] ?? '').join('')

const thoughtsOf = ({ summary, content }: Item): string =>
  (summary?.length ? summary : (content ?? [])).map(({ text = '' }) => text).join('\n\n')

function closeCall(slot: Slot, item: Item) {
  slot.name ||= item.name ?? ''
  slot.callId ||= item.call_id ?? ''
  slot.text = item.arguments || slot.text
}

function partsOf(slot: Slot, from: string | undefined): AssistantMessage['content'] {
  const { kind, text } = slot
  if (kind === 'call') return [{ type: 'call', id: slot.callId, name: slot.name, ...readArguments(text) }]
  if (kind === 'reasoning') return thoughtParts(slot, from)
  return kind === 'message' ? saidParts(slot, from) : []
}

function thoughtParts({ text, item }: Slot, from: string | undefined): AssistantMessage['content'] {
  const seal = item && reasoningSeal(item)
  if (!text && !seal) return []
  return [{ type: 'thinking', text, ...(seal && { sealed: { by: sealedBy(from), data: seal } }) }]
}

function saidParts({ text, refusal, item }: Slot, from: string | undefined): AssistantMessage['content'] {
  const said = { type: 'text', text: text || refusal } as const
  if (!said.text) return []
  if (!item?.phase) return [said]
  const seal: PhaseSeal = { type: 'message', phase: item.phase }
  return [{ type: 'thinking', text: '', sealed: { by: sealedBy(from), data: seal } }, said]
}
