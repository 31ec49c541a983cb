/** Assembles the tool calls of a chat completion from their streamed fragments. */

import type { ToolCallPart } from '#agent/core/message.ts'
import { parseCallArguments } from '../shared/call-arguments.ts'
import { sealIssuer } from './chat-messages.ts'
import type { ReplySizeLimit } from '../shared/reply-size-limit.ts'

export type ToolCallFragment = {
  readonly index?: number
  readonly id?: string | null
  readonly function?: { readonly name?: string | null; readonly arguments?: string | object | null }
  /** Data that must be sent back with the call: Gemini's signatures. */
  readonly extra_content?: object | null
}

type PartialCall = { readonly index: number | undefined; id: string; name: string; json: string; extra?: object }

/** Ends a name that grows without end. Providers allow 64 characters. */
const maxNameChars = 500
/** Limits the total work of parsing growing arguments again and again. */
const maxCheckedChars = 50_000_000

export class ToolCallAssembler {
  readonly #sizeLimit: ReplySizeLimit
  readonly #calls: PartialCall[] = []
  #checkedChars = 0
  /** The latest call of each index. Providers have sent arbitrary numbers as indexes. */
  readonly #byIndex = new Map<number, PartialCall>()

  constructor(sizeLimit: ReplySizeLimit) {
    this.#sizeLimit = sizeLimit
  }

  get length(): number {
    return this.#calls.length
  }

  /** Returns the name of the call so far, and the piece of its arguments. */
  add(fragment: ToolCallFragment): { readonly name: string; readonly piece: string } {
    const { id, function: called, extra_content: extra } = fragment
    const json = toJson(called?.arguments)
    this.#sizeLimit.countText(json)
    const call = this.#findCall(fragment) ?? this.#start(fragment)
    // A number as an id is none for the next request.
    if (id && !call.id) call.id = String(id)
    if (called?.name && call.name.length < maxNameChars && !call.name.endsWith(called.name))
      call.name = (call.name + called.name).slice(0, maxNameChars)
    call.json += json
    if (extra) {
      this.#sizeLimit.countText(JSON.stringify(extra))
      call.extra = extra
    }
    return { name: call.name, piece: json }
  }

  toParts(): readonly ToolCallPart[] {
    return this.#calls.map(({ id, name, json, extra }) => {
      const call = { type: 'call', id, name, ...parseCallArguments(json) } as const
      return extra ? { ...call, sealed: { by: sealIssuer, data: extra } } : call
    })
  }

  #start({ index, id }: ToolCallFragment): PartialCall {
    this.#sizeLimit.countPart()
    this.#sizeLimit.countText(id ?? '')
    const call: PartialCall = { index, id: '', name: '', json: '' }
    this.#calls.push(call)
    if (index !== undefined) this.#byIndex.set(index, call)
    return call
  }

  /**
   * Returns the call that a fragment continues, or undefined when it starts a call. Most fragments have an index. Some
   * servers omit it, or use one index or one id for all calls. Then a new id with a name starts a call, and so does a
   * name after a complete call.
   */
  #findCall(fragment: ToolCallFragment): PartialCall | undefined {
    const { index, id, function: called } = fragment
    const last = index === undefined ? this.#calls.at(-1) : this.#byIndex.get(index)
    if (!id) return last && this.#isCompleteBefore(last, fragment) ? undefined : last
    const sameId = this.#findById(id, fragment, last)
    if (sameId || index === undefined) return sameId
    return called?.name && last?.id ? undefined : last
  }

  /** The call is complete JSON, and the fragment has a name with arguments or a different name. */
  #isCompleteBefore({ name, json }: PartialCall, { function: called }: ToolCallFragment): boolean {
    if (!called?.name || !name || !(toJson(called.arguments).trim() || called.name !== name)) return false
    this.#checkedChars += json.length
    return this.#checkedChars <= maxCheckedChars && json.trimEnd().endsWith('}') && isValidJson(json)
  }

  #findById(id: string, fragment: ToolCallFragment, last: PartialCall | undefined): PartialCall | undefined {
    return last?.id === id ? last : this.#calls.findLast((call) => call.id === id && belongsToCall(call, fragment))
  }
}

/** Some servers send the arguments as an object instead of JSON. */
const toJson = (args: string | object | null | undefined): string =>
  typeof args === 'object' && args !== null ? JSON.stringify(args) : (args ?? '')

/**
 * Two calls with one id differ in their index. When a server counts fragments instead of calls, only the first fragment
 * of a call has a name.
 */
const belongsToCall = (call: PartialCall, { index, function: called }: ToolCallFragment): boolean =>
  index === undefined || call.index === undefined || call.index === index || !called?.name

function isValidJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}
