/** The tool calls of a chat completion, put together from their fragments. */

import type { ToolCallPart } from '../../model/message.ts'
import { readArguments } from '../shared/call-arguments.ts'
import { sealedBy } from './chat-messages.ts'
import type { Room } from '../shared/read-body.ts'

export type CallFragment = {
  readonly index?: number
  readonly id?: string | null
  readonly function?: { readonly name?: string | null; readonly arguments?: string | object | null }
  /** What has to come back with the call: Gemini's signatures. */
  readonly extra_content?: object | null
}

type Call = { readonly index: number | undefined; id: string; name: string; json: string; extra?: object }

/** No tool has a longer name: providers allow 64. */
const longestName = 500
/** Characters of arguments that are looked through for their end, again and again. */
const mostChecked = 50_000_000

export class CallFragments {
  readonly #room: Room
  readonly #calls: Call[] = []
  #checked = 0
  /** The call of an index, the last one that had it. An index is only a name: providers have sent any number. */
  readonly #byIndex = new Map<number, Call>()

  constructor(room: Room) {
    this.#room = room
  }

  get length(): number {
    return this.#calls.length
  }

  take(fragment: CallFragment): void {
    const { id, function: called, extra_content: extra } = fragment
    const json = jsonOf(called?.arguments)
    this.#room.take(json)
    const call = this.#callOf(fragment) ?? this.#begin(fragment)
    if (id && !call.id) call.id = id
    if (called?.name && call.name.length < longestName && !call.name.endsWith(called.name))
      call.name = (call.name + called.name).slice(0, longestName)
    call.json += json
    if (extra) {
      this.#room.take(JSON.stringify(extra))
      call.extra = extra
    }
  }

  parts(): readonly ToolCallPart[] {
    return this.#calls.map(({ id, name, json, extra }) => {
      const call = { type: 'call', id, name, ...readArguments(json) } as const
      return extra ? { ...call, sealed: { by: sealedBy, data: extra } } : call
    })
  }

  #begin({ index, id }: CallFragment): Call {
    this.#room.takePart()
    this.#room.take(id ?? '')
    const call: Call = { index, id: '', name: '', json: '' }
    this.#calls.push(call)
    if (index !== undefined) this.#byIndex.set(index, call)
    return call
  }

  /**
   * The call that a fragment goes on with. Most have an index. Some servers leave it out, or give every call the same
   * one, or the same id: then a new id with a name begins a call, and so does a name behind a call that is whole.
   */
  #callOf(fragment: CallFragment): Call | undefined {
    const { index, id, function: called } = fragment
    const last = index === undefined ? this.#calls.at(-1) : this.#byIndex.get(index)
    if (!id) return last && this.#isWholeBefore(last, fragment) ? undefined : last
    const known = this.#ofId(id, fragment, last)
    if (known || index === undefined) return known
    return called?.name && last?.id ? undefined : last
  }

  /** Another call begins behind this one: there is a name again, with arguments or another one, and nothing is missing. */
  #isWholeBefore({ name, json }: Call, { function: called }: CallFragment): boolean {
    if (!called?.name || !name || !(jsonOf(called.arguments).trim() || called.name !== name)) return false
    this.#checked += json.length
    return this.#checked <= mostChecked && json.trimEnd().endsWith('}') && isJson(json)
  }

  #ofId(id: string, fragment: CallFragment, last: Call | undefined): Call | undefined {
    return last?.id === id ? last : this.#calls.findLast((call) => call.id === id && isOf(call, fragment))
  }
}

/** Some servers have read them already. */
const jsonOf = (given: string | object | null | undefined): string =>
  typeof given === 'object' && given !== null ? JSON.stringify(given) : (given ?? '')

/** One id for two calls is told apart by the index; one index for each fragment by the name, which only the first has. */
const isOf = (call: Call, { index, function: called }: CallFragment): boolean =>
  index === undefined || call.index === undefined || call.index === index || !called?.name

function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}
