/**
 * Renders the events of a run, or of a part of it, as events of OpenAI's Responses API. Every item is added, extended and
 * closed, and the last event contains the whole response. Text of an abandoned answer is closed as incomplete and is not
 * in the whole.
 */

import { isRunEnd, type SessionEvent, type RunEnded } from '#agent/core/event.ts'
import { type Usage, usageSince } from '#agent/core/usage.ts'
import { callPart, createItemId, type ItemKind } from './item-ids.ts'
import {
  type ShownResult,
  type OutputItem,
  type RenderedCall,
  renderApprovalNotice,
  renderApprovalRequest,
  renderFunctionCall,
  renderMcpCall,
  renderMessageItem,
  renderQuestion,
  renderReasoningItem,
  renderTextPart,
} from './items.ts'
import { renderResponse, type ResponseHead, type ResponseState, resolveStatus } from './response.ts'
import { questionTool } from './stored-items.ts'

/** The parts of the session that the renderer reads. */
export type ResponseSource = {
  /** The session in which the run was written. */
  readonly sessionId: string
  /** The whole result of a call. Undefined when only its preview is known. */
  readonly resultOf: (step: number, callId: string) => ShownResult | undefined
  /** The id of the approval by which a call was allowed in an earlier part. */
  readonly wasApproved: (step: number, callId: string) => boolean
  /** The head of the response, once its run has begun. */
  readonly head: () => ResponseHead | undefined
  /** When the part ended, in milliseconds since 1970. Undefined while it goes on. */
  readonly endedAt: () => number | undefined
  /** The usage of the run before this part. */
  readonly usageBefore: () => Usage | undefined
  /** Whether the reader may decide approvals. */
  readonly mayApprove: () => boolean
}

/**
 * Creates a function that renders one event as server-sent text, or as an empty string. Events with a sequence number up
 * to `after` are omitted.
 */
export function createResponseRenderer(source: ResponseSource, after = -1): (event: SessionEvent) => string {
  const stream = new ResponseStream(source, after)
  return (event) => stream.render(event)
}

/** An item that is still streaming: an answer, or thinking. */
type OpenItem = {
  readonly kind: 'msg' | 'rs'
  readonly id: string
  readonly index: number
  text: string
}
type OpenCall = { readonly index: number; readonly call: RenderedCall; readonly approvalId: string | undefined }
type DeltaEvent = Extract<SessionEvent, { type: 'message.delta' | 'reasoning.delta' }>
type StreamedCallEvent = Extract<SessionEvent, { type: 'tool.started' | 'tool.completed' }>

/** No event of a run becomes more events of a response than this. */
const maxPerEvent = 16

class ResponseStream {
  readonly #source: ResponseSource
  readonly #after: number
  #head: ResponseHead | undefined
  /** Items by output index; an abandoned item is undefined. */
  readonly #output: (OutputItem | undefined)[] = []
  /** The seq of the event that started each text, by output index. */
  readonly #textSeqs = new Map<number, number>()
  readonly #openCalls = new Map<string, OpenCall>()
  #open: OpenItem | undefined
  /** The reply whose texts are streaming, and the number of its texts so far. */
  #reply = { step: 0, texts: 0 }
  #nextNumber = 0
  /** The seq of the first event. Undefined before it. */
  #firstSeq: number | undefined

  constructor(source: ResponseSource, after: number) {
    this.#source = source
    this.#after = after
  }

  render(event: SessionEvent): string {
    const opening = this.#firstSeq === undefined ? this.#begin(event) : ''
    if (isRunEnd(event)) return opening + this.#end(event)
    // Calls made by a program are not items; the call that runs the program is.
    if ('parent_call_id' in event) return opening
    return opening + this.#renderStep(event)
  }

  #renderStep(event: SessionEvent): string {
    switch (event.type) {
      case 'message.delta':
        return this.#append('msg', event)
      case 'reasoning.delta':
        return this.#append('rs', event)
      case 'tool.started':
        return event.tool === questionTool ? '' : this.#close() + this.#startCall(event)
      case 'tool.completed':
        return event.tool === questionTool ? '' : this.#close() + this.#endCall(event)
      case 'turn.restarted':
        return this.#discardAfter(event)
      default:
        return this.#renderRequest(event)
    }
  }

  /** Requests that the caller answers end the part. */
  #renderRequest(event: SessionEvent): string {
    switch (event.type) {
      case 'client_call.request':
        return this.#close() + this.#addFunctionCall(event)
      case 'approval.request':
        return this.#close() + this.#addApproval(event)
      case 'question.request':
        return this.#close() + this.#addText(event, renderQuestion(event), stepAndCall(event, event.question_id))
      case 'run.waiting':
        return this.#endPart(event)
      default:
        return ''
    }
  }

  #send(type: string, fields: object): string {
    const number = this.#nextNumber++
    if (number <= this.#after) return ''
    return `event: ${type}\ndata: ${JSON.stringify({ type, ...fields, sequence_number: number })}\n\n`
  }

  #response(type: string, state: ResponseState): string {
    return this.#send(`response.${type}`, { response: renderResponse(this.#head as ResponseHead, state) })
  }

  #begin(event: SessionEvent): string {
    this.#firstSeq = event.seq
    const head = this.#source.head() ?? { id: `resp_${event.run_id}`, createdAt: 0, options: {} }
    this.#head = head
    const state = { output: [] }
    const isBackground = head.options.response?.isBackground
    return (
      this.#response('created', { ...state, status: isBackground ? 'queued' : 'in_progress' }) +
      (isBackground ? this.#response('queued', { ...state, status: 'queued' }) : '') +
      this.#response('in_progress', { ...state, status: 'in_progress' })
    )
  }

  #append(kind: OpenItem['kind'], event: DeltaEvent): string {
    const { delta, step = 0 } = event
    const isNew = this.#open?.kind !== kind || this.#reply.step !== step
    const prefix = isNew ? this.#close() + this.#openItem(kind, event) : ''
    const open = this.#open as OpenItem
    open.text += delta
    const position = { item_id: open.id, output_index: open.index }
    if (kind === 'msg')
      return prefix + this.#send('response.output_text.delta', { ...position, content_index: 0, delta, logprobs: [] })
    return prefix + this.#send('response.reasoning_summary_text.delta', { ...position, summary_index: 0, delta })
  }

  #openItem(kind: OpenItem['kind'], event: DeltaEvent): string {
    const { seq, step = 0 } = event
    const { sessionId } = this.#source
    if (this.#reply.step !== step) this.#reply = { step, texts: 0 }
    return this.#openText(kind, createItemId(kind, { sessionId, seq: step }, this.#reply.texts++), seq)
  }

  #openText(kind: OpenItem['kind'], id: string, seq: number): string {
    const index = this.#output.push(undefined) - 1
    this.#textSeqs.set(index, seq)
    this.#open = { kind, id, index, text: '' }
    const position = { item_id: id, output_index: index }
    const item = kind === 'msg' ? renderMessageItem(id, '', 'in_progress') : renderReasoningItem(id, '')
    const added = this.#send('response.output_item.added', { output_index: index, item })
    if (kind === 'msg')
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
    const item = open.kind === 'msg' ? renderMessageItem(id, text, status) : renderReasoningItem(id, text)
    this.#output[index] = item
    const done = this.#closeText(open, position)
    return done + this.#send('response.output_item.done', { output_index: index, item })
  }

  #closeText({ kind, text }: OpenItem, position: object): string {
    if (kind === 'msg') {
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

  /** A call that is planned again after a restart is still open. */
  #startCall(event: StreamedCallEvent & { readonly input?: unknown }): string {
    const { step = 0, call_id: callId, tool } = event
    const { sessionId } = this.#source
    const key = `${step} ${callId}`
    if (this.#openCalls.has(key)) return ''
    const id = (kind: ItemKind) => createItemId(kind, { sessionId, seq: step }, callPart(callId))
    const call = { id: id('mcp'), name: tool, json: JSON.stringify(event.input ?? {}) }
    const approvalId = this.#source.wasApproved(step, callId) ? id('mcpr') : undefined
    const begun = renderMcpCall({ ...call, json: '' }, { status: 'in_progress', approvalId })
    const index = this.#output.push(renderMcpCall(call, { approvalId })) - 1
    this.#openCalls.set(key, { index, call, approvalId })
    const position = { item_id: call.id, output_index: index }
    return (
      this.#send('response.output_item.added', { output_index: index, item: begun }) +
      this.#send('response.mcp_call.in_progress', position) +
      this.#send('response.mcp_call_arguments.delta', { ...position, delta: call.json }) +
      this.#send('response.mcp_call_arguments.done', { ...position, arguments: call.json })
    )
  }

  /** A call that was refused before it began is added with its end. */
  #endCall(event: Extract<SessionEvent, { type: 'tool.completed' }>): string {
    const { step = 0, call_id: callId, failed, preview } = event
    const key = `${step} ${callId}`
    const added = this.#openCalls.has(key) ? '' : this.#startCall(event)
    const { index, call, approvalId } = this.#openCalls.get(key) as OpenCall
    this.#openCalls.delete(key)
    const result = this.#source.resultOf(step, callId) ?? { text: preview, failed }
    const item = renderMcpCall(call, { result, approvalId })
    this.#output[index] = item
    return (
      added +
      this.#send(`response.mcp_call.${failed ? 'failed' : 'completed'}`, { item_id: call.id, output_index: index }) +
      this.#send('response.output_item.done', { output_index: index, item })
    )
  }

  #addFunctionCall(event: Extract<SessionEvent, { type: 'client_call.request' }>): string {
    const { step = 0, call_id: callId, tool, input } = event
    const { sessionId } = this.#source
    const id = (kind: ItemKind) => createItemId(kind, { sessionId, seq: step }, callPart(callId))
    const call = { id: id('fc'), name: tool, json: input }
    const item = renderFunctionCall(call, id('call'))
    const index = this.#output.push(item) - 1
    const position = { item_id: call.id, output_index: index }
    return (
      this.#send('response.output_item.added', {
        output_index: index,
        item: renderFunctionCall({ ...call, json: '' }, id('call'), 'in_progress'),
      }) +
      this.#send('response.function_call_arguments.delta', { ...position, delta: input }) +
      this.#send('response.function_call_arguments.done', { ...position, name: tool, arguments: input }) +
      this.#send('response.output_item.done', { output_index: index, item })
    )
  }

  #addApproval(event: Extract<SessionEvent, { type: 'approval.request' }>): string {
    const at = stepAndCall(event, event.approval_id)
    if (!this.#source.mayApprove()) return this.#addText(event, renderApprovalNotice(event.tool), at)
    const id = createItemId('mcpr', { sessionId: this.#source.sessionId, seq: at.step }, callPart(at.callId))
    const item = renderApprovalRequest({ id, name: event.tool, json: JSON.stringify(event.input) })
    const index = this.#output.push(item) - 1
    const fields = { output_index: index, item }
    return this.#send('response.output_item.added', fields) + this.#send('response.output_item.done', fields)
  }

  /** Adds a message that the agent did not stream. */
  #addText(event: SessionEvent, text: string, { step, callId }: ReturnType<typeof stepAndCall>): string {
    const id = createItemId('msg', { sessionId: this.#source.sessionId, seq: step }, callPart(callId))
    const opened = this.#openText('msg', id, event.seq)
    const open = this.#open as OpenItem
    open.text = text
    const position = { item_id: id, output_index: open.index, content_index: 0 }
    return opened + this.#send('response.output_text.delta', { ...position, delta: text, logprobs: [] }) + this.#close()
  }

  /**
   * A later replay does not have the discarded deltas. So the numbers go on at one that follows from the position of
   * this event alone, in both.
   */
  #discardAfter({ from_seq: fromSeq, seq }: Extract<SessionEvent, { type: 'turn.restarted' }>): string {
    const closed = this.#close('incomplete')
    for (const [index, textSeq] of this.#textSeqs) if (textSeq > fromSeq) this.#output[index] = undefined
    this.#reply = { step: 0, texts: 0 }
    this.#nextNumber = Math.max(this.#nextNumber, (seq - (this.#firstSeq ?? seq) + 1) * maxPerEvent)
    return closed
  }

  #endPart(event: Extract<SessionEvent, { type: 'run.waiting' }>): string {
    return (
      this.#close() +
      this.#response('completed', {
        status: 'completed',
        output: this.#whole(),
        usage: usageSince(event.usage, this.#source.usageBefore()),
        endedAt: this.#source.endedAt(),
      })
    )
  }

  #end(event: RunEnded): string {
    const closed = this.#close(event.completed ? 'completed' : 'incomplete')
    const status = resolveStatus(event)
    const state = {
      status,
      output: this.#whole(),
      usage: usageSince(event.usage, this.#source.usageBefore()),
      error: event.error,
      exitReason: event.exit_reason,
      endedAt: this.#source.endedAt(),
    }
    // The Responses API has no event for a cancelled response, so it ends as incomplete.
    return closed + this.#response(status === 'cancelled' ? 'incomplete' : status, state)
  }

  #whole = (): readonly OutputItem[] => this.#output.filter((item) => item !== undefined)
}

/** The public id of a question or approval ends with the step and the id of its call. */
function stepAndCall(event: SessionEvent, requestId: string): { readonly step: number; readonly callId: string } {
  const prefix = `${event.session_id}.${event.run_id}.`
  const [, step = '0', callId = ''] = /^(\d+)\.([^]*)$/.exec(requestId.slice(prefix.length)) ?? []
  return { step: Number(step), callId }
}
