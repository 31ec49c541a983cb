/**
 * Events of a run as those of OpenAI's Responses API: every item is opened, grows and is closed, and the last
 * event has the whole. Words that were given up are closed as incomplete and are not part of the whole.
 */

import { isEnd, type PlacedEvent, type RunEnded } from '../model/event.ts'
import {
  callItem,
  messageItem,
  type OutputItem,
  outputItem,
  reasoningItem,
  type ResponseHead,
  responseObject,
  type ResponseState,
  statusOf,
  textPart,
} from './responses.ts'
import { publicUsage } from './usage.ts'

/** Renders one event as server-sent text, or nothing. What has a number up to `after` is left out. */
export function responseEvents(head: ResponseHead, after = -1): (event: PlacedEvent) => string {
  const told = new Told(head, after)
  return (event) => told.take(event)
}

/** Words that still come: an answer, or thinking. */
type Open = {
  readonly kind: 'message' | 'reasoning'
  readonly id: string
  readonly place: number
  text: string
}

class Told {
  readonly #head: ResponseHead
  /** Every item in its place; what was given up is undefined. */
  readonly #output: (OutputItem | undefined)[] = []
  /** Numbers of the events with which texts began, by place. */
  readonly #texts = new Map<number, number>()
  #open: Open | undefined
  #sent = 0
  readonly #after: number

  constructor(head: ResponseHead, after: number) {
    this.#head = head
    this.#after = after
  }

  take(event: PlacedEvent): string {
    const begun = this.#sent ? '' : this.#begin()
    if (isEnd(event)) return begun + this.#end(event)
    // What a program calls is no item of the answer: its own call is.
    if ('parent_call_id' in event) return begun
    switch (event.type) {
      case 'message.delta':
        return begun + this.#grow('message', event)
      case 'reasoning.delta':
        return begun + this.#grow('reasoning', event)
      case 'tool.started':
        return begun + this.#close() + this.#called(event.call_id, event.tool, JSON.stringify(event.input))
      case 'tool.completed':
        return begun + this.#close() + this.#whole(outputItem(this.#id('fco'), event.call_id, event.preview))
      case 'turn.restarted':
        return begun + this.#giveUp(event.from_seq)
      default:
        return begun
    }
  }

  #send(type: string, fields: object): string {
    const number = this.#sent++
    if (number <= this.#after) return ''
    return `event: ${type}\ndata: ${JSON.stringify({ type, ...fields, sequence_number: number })}\n\n`
  }

  #response(type: string, state: ResponseState): string {
    return this.#send(`response.${type}`, { response: responseObject(this.#head, state) })
  }

  #begin(): string {
    const state = { status: 'in_progress', output: [] } as const
    return this.#response('created', state) + this.#response('in_progress', state)
  }

  #id(kind: string): string {
    return `${kind}_${this.#head.id.replace(/^resp_|\..*$/g, '')}_${this.#output.length}`
  }

  #grow(kind: Open['kind'], { delta, seq }: { readonly delta: string; readonly seq: number }): string {
    const opened = this.#open?.kind === kind ? '' : this.#close() + this.#start(kind, seq)
    const open = this.#open as Open
    open.text += delta
    const where = { item_id: open.id, output_index: open.place }
    if (kind === 'message')
      return opened + this.#send('response.output_text.delta', { ...where, content_index: 0, delta, logprobs: [] })
    return opened + this.#send('response.reasoning_summary_text.delta', { ...where, summary_index: 0, delta })
  }

  #start(kind: Open['kind'], seq: number): string {
    const id = this.#id(kind === 'message' ? 'msg' : 'rs')
    const place = this.#output.push(undefined) - 1
    this.#texts.set(place, seq)
    this.#open = { kind, id, place, text: '' }
    const where = { item_id: id, output_index: place }
    const item = kind === 'message' ? messageItem(id, '', 'in_progress') : reasoningItem(id, '')
    const added = this.#send('response.output_item.added', { output_index: place, item })
    if (kind === 'message')
      return added + this.#send('response.content_part.added', { ...where, content_index: 0, part: textPart('') })
    const part = { type: 'summary_text', text: '' }
    return added + this.#send('response.reasoning_summary_part.added', { ...where, summary_index: 0, part })
  }

  #close(status: 'completed' | 'incomplete' = 'completed'): string {
    const open = this.#open
    if (!open) return ''
    this.#open = undefined
    const { id, place, text } = open
    const where = { item_id: id, output_index: place }
    const item = open.kind === 'message' ? messageItem(id, text, status) : reasoningItem(id, text)
    this.#output[place] = item
    const done = this.#textDone(open, where)
    return done + this.#send('response.output_item.done', { output_index: place, item })
  }

  #textDone({ kind, text }: Open, where: object): string {
    if (kind === 'message') {
      const at = { ...where, content_index: 0 }
      return (
        this.#send('response.output_text.done', { ...at, text, logprobs: [] }) +
        this.#send('response.content_part.done', { ...at, part: textPart(text) })
      )
    }
    const at = { ...where, summary_index: 0 }
    return (
      this.#send('response.reasoning_summary_text.done', { ...at, text }) +
      this.#send('response.reasoning_summary_part.done', { ...at, part: { type: 'summary_text', text } })
    )
  }

  #called(callId: string, name: string, json: string): string {
    const id = this.#id('fc')
    const call = { callId, name, json }
    const place = this.#output.push(callItem(id, call, 'completed')) - 1
    const where = { item_id: id, output_index: place }
    return (
      this.#send('response.output_item.added', {
        output_index: place,
        item: callItem(id, { ...call, json: '' }, 'in_progress'),
      }) +
      this.#send('response.function_call_arguments.delta', { ...where, delta: json }) +
      this.#send('response.function_call_arguments.done', { ...where, arguments: json }) +
      this.#send('response.output_item.done', { output_index: place, item: this.#output[place] })
    )
  }

  /** An item that came in one piece. */
  #whole(item: OutputItem): string {
    const place = this.#output.push(item) - 1
    const fields = { output_index: place, item }
    return this.#send('response.output_item.added', fields) + this.#send('response.output_item.done', fields)
  }

  #giveUp(fromSeq: number): string {
    const closed = this.#close('incomplete')
    for (const [place, seq] of this.#texts) if (seq > fromSeq) this.#output[place] = undefined
    return closed
  }

  #end(event: RunEnded & { readonly seq: number }): string {
    const last = this.#lastText()
    const unsaid = event.output && last !== event.output
    const text = unsaid ? this.#close() + this.#grow('message', { delta: event.output, seq: event.seq }) : ''
    const closed = text + this.#close(event.completed ? 'completed' : 'incomplete')
    const status = statusOf(event)
    const state = {
      status,
      output: this.#output.filter((item) => item !== undefined),
      usage: publicUsage(event.usage),
      error: event.error,
      exitReason: event.exit_reason,
    }
    // There is no event for what was stopped: it is not complete.
    return closed + this.#response(status === 'cancelled' ? 'incomplete' : status, state)
  }

  /** What was said last, closed or not. */
  #lastText(): string | undefined {
    if (this.#open?.kind === 'message') return this.#open.text
    const item = this.#output.findLast((one) => one?.type === 'message')
    return item?.type === 'message' ? item.content.map((part) => ('text' in part ? part.text : '')).join('') : undefined
  }
}
