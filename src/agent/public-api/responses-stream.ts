/**
 * Renders the events of a run as events of OpenAI's Responses API. Every item is added, extended and closed, and the
 * last event contains the whole response. Text of an abandoned answer is closed as incomplete and is not in the whole.
 */

import { isRunEnd, type SessionEvent, type RunEnded } from '../model/event.ts'
import {
  renderCallItem,
  renderMessageItem,
  type OutputItem,
  renderOutputItem,
  renderReasoningItem,
  type ResponseHead,
  renderResponse,
  type ResponseState,
  resolveStatus,
  renderTextPart,
} from './responses.ts'
import { toPublicUsage } from './usage.ts'

/**
 * Creates a function that renders one event as server-sent text, or as an empty string. Events with a sequence number
 * up to `after` are omitted.
 */
export function createResponseRenderer(head: ResponseHead, after = -1): (event: SessionEvent) => string {
  const stream = new ResponseStream(head, after)
  return (event) => stream.render(event)
}

/** An item that is still streaming: an answer, or thinking. */
type OpenItem = {
  readonly kind: 'message' | 'reasoning'
  readonly id: string
  readonly index: number
  text: string
}

class ResponseStream {
  readonly #head: ResponseHead
  /** Items by output index; an abandoned item is undefined. */
  readonly #output: (OutputItem | undefined)[] = []
  /** The seq of the event that started each text, by output index. */
  readonly #textSeqs = new Map<number, number>()
  #open: OpenItem | undefined
  #nextNumber = 0
  readonly #after: number

  constructor(head: ResponseHead, after: number) {
    this.#head = head
    this.#after = after
  }

  render(event: SessionEvent): string {
    const opening = this.#nextNumber ? '' : this.#begin()
    if (isRunEnd(event)) return opening + this.#end(event)
    // Calls made by a program are not items; the call that runs the program is.
    if ('parent_call_id' in event) return opening
    switch (event.type) {
      case 'message.delta':
        return opening + this.#append('message', event)
      case 'reasoning.delta':
        return opening + this.#append('reasoning', event)
      case 'tool.started':
        return opening + this.#close() + this.#addCall(event.call_id, event.tool, JSON.stringify(event.input))
      case 'tool.completed':
        return (
          opening +
          this.#close() +
          this.#addItem(renderOutputItem(this.#nextItemId('fco'), event.call_id, event.preview))
        )
      case 'turn.restarted':
        return opening + this.#discardAfter(event.from_seq)
      default:
        return opening
    }
  }

  #send(type: string, fields: object): string {
    const number = this.#nextNumber++
    if (number <= this.#after) return ''
    return `event: ${type}\ndata: ${JSON.stringify({ type, ...fields, sequence_number: number })}\n\n`
  }

  #response(type: string, state: ResponseState): string {
    return this.#send(`response.${type}`, { response: renderResponse(this.#head, state) })
  }

  #begin(): string {
    const state = { status: 'in_progress', output: [] } as const
    return this.#response('created', state) + this.#response('in_progress', state)
  }

  #nextItemId(kind: string): string {
    return `${kind}_${this.#head.id.replace(/^resp_|\..*$/g, '')}_${this.#output.length}`
  }

  #append(kind: OpenItem['kind'], { delta, seq }: { readonly delta: string; readonly seq: number }): string {
    const prefix = this.#open?.kind === kind ? '' : this.#close() + this.#openItem(kind, seq)
    const open = this.#open as OpenItem
    open.text += delta
    const position = { item_id: open.id, output_index: open.index }
    if (kind === 'message')
      return prefix + this.#send('response.output_text.delta', { ...position, content_index: 0, delta, logprobs: [] })
    return prefix + this.#send('response.reasoning_summary_text.delta', { ...position, summary_index: 0, delta })
  }

  #openItem(kind: OpenItem['kind'], seq: number): string {
    const id = this.#nextItemId(kind === 'message' ? 'msg' : 'rs')
    const index = this.#output.push(undefined) - 1
    this.#textSeqs.set(index, seq)
    this.#open = { kind, id, index, text: '' }
    const position = { item_id: id, output_index: index }
    const item = kind === 'message' ? renderMessageItem(id, '', 'in_progress') : renderReasoningItem(id, '')
    const added = this.#send('response.output_item.added', { output_index: index, item })
    if (kind === 'message')
      return (
        added + this.#send('response.content_part.added', { ...position, content_index: 0, part: renderTextPart('') })
      )
    const part = { type: 'summary_text', text: '' }
    return added + this.#send('response.reasoning_summary_part.added', { ...position, summary_index: 0, part })
  }

  #close(status: 'completed' | 'incomplete' = 'completed'): string {
    const open = this.#open
    if (!open) return ''
    this.#open = undefined
    const { id, index, text } = open
    const position = { item_id: id, output_index: index }
    const item = open.kind === 'message' ? renderMessageItem(id, text, status) : renderReasoningItem(id, text)
    this.#output[index] = item
    const done = this.#closeText(open, position)
    return done + this.#send('response.output_item.done', { output_index: index, item })
  }

  #closeText({ kind, text }: OpenItem, position: object): string {
    if (kind === 'message') {
      const part = { ...position, content_index: 0 }
      return (
        this.#send('response.output_text.done', { ...part, text, logprobs: [] }) +
        this.#send('response.content_part.done', { ...part, part: renderTextPart(text) })
      )
    }
    const part = { ...position, summary_index: 0 }
    return (
      this.#send('response.reasoning_summary_text.done', { ...part, text }) +
      this.#send('response.reasoning_summary_part.done', { ...part, part: { type: 'summary_text', text } })
    )
  }

  #addCall(callId: string, name: string, json: string): string {
    const id = this.#nextItemId('fc')
    const call = { callId, name, json }
    const index = this.#output.push(renderCallItem(id, call, 'completed')) - 1
    const position = { item_id: id, output_index: index }
    return (
      this.#send('response.output_item.added', {
        output_index: index,
        item: renderCallItem(id, { ...call, json: '' }, 'in_progress'),
      }) +
      this.#send('response.function_call_arguments.delta', { ...position, delta: json }) +
      this.#send('response.function_call_arguments.done', { ...position, arguments: json }) +
      this.#send('response.output_item.done', { output_index: index, item: this.#output[index] })
    )
  }

  /** Adds an item that does not stream. */
  #addItem(item: OutputItem): string {
    const index = this.#output.push(item) - 1
    const fields = { output_index: index, item }
    return this.#send('response.output_item.added', fields) + this.#send('response.output_item.done', fields)
  }

  #discardAfter(fromSeq: number): string {
    const closed = this.#close('incomplete')
    for (const [index, seq] of this.#textSeqs) if (seq > fromSeq) this.#output[index] = undefined
    return closed
  }

  #end(event: RunEnded & { readonly seq: number }): string {
    const last = this.#lastText()
    const isMissing = event.output && last !== event.output
    const text = isMissing ? this.#close() + this.#append('message', { delta: event.output, seq: event.seq }) : ''
    const closed = text + this.#close(event.completed ? 'completed' : 'incomplete')
    const status = resolveStatus(event)
    const state = {
      status,
      output: this.#output.filter((item) => item !== undefined),
      usage: toPublicUsage(event.usage),
      error: event.error,
      exitReason: event.exit_reason,
    }
    // The Responses API has no event for a cancelled response, so it ends as incomplete.
    return closed + this.#response(status === 'cancelled' ? 'incomplete' : status, state)
  }

  /** Returns the text of the last message item, open or closed. */
  #lastText(): string | undefined {
    if (this.#open?.kind === 'message') return this.#open.text
    const item = this.#output.findLast((one) => one?.type === 'message')
    return item?.type === 'message' ? item.content.map((part) => ('text' in part ? part.text : '')).join('') : undefined
  }
}
