/**
 * What is only seen while a turn is at work: somebody types, an answer grows. Nothing of it is owed to anybody; whatever
 * goes wrong here stops here.
 */

import type { Origin, Outcome } from '../../agent/model/delivery.ts'
import { prepared } from '../../agent/policy/deliver.ts'
import type { Channel } from '../../channels/channel.ts'
import type { Connected } from './connection.ts'
import { firstOf, Preview, rendered } from './preview.ts'
import { Typing } from './typing.ts'
import type { Outbox, PartRow } from './outbox.ts'
import { clock } from '../platform/clock.ts'

export type Chat = { readonly origin: Origin; readonly channel: Channel }

export type PresenceOptions = {
  readonly outbox: Outbox
  readonly chat: () => Chat | undefined
  readonly connected: (origin: Origin) => Promise<Connected | { readonly refused: string }>
  /** The message that the turn answers, where answers name it. */
  readonly replyTo: () => string | undefined
  readonly later: (work: Promise<unknown>) => void
  /** There is something new in the outbox. */
  readonly go: () => void
}

export class Presence {
  readonly #options: PresenceOptions
  readonly #typing = new Typing()
  readonly #preview: Preview

  constructor(options: PresenceOptions) {
    this.#options = options
    this.#preview = new Preview({
      pauseMs: () => this.#pause(),
      row: (run, text) => this.#row(run, text),
      current: (id) => options.outbox.get(id),
      edit: (id, text) => this.#edit(id, text),
    })
  }

  type(): void {
    const chat = this.#options.chat()
    if (!chat) return
    const { origin, channel } = chat
    const show = async (): Promise<Outcome> => {
      const connection = await this.#options.connected(origin)
      return 'refused' in connection ? gone : channel.typing(connection.line, origin)
    }
    this.#hold(this.#typing.begin(show, channel.typingMs * 0.8))
  }

  write(run: string, delta: string): void {
    this.#hold(this.#preview.take(run, delta))
  }

  pause = (run: string): void => this.#preview.pause(run)
  restart = (run: string): void => this.#preview.restart(run)

  /** Gives the time from which on what was seen may be edited again. */
  end(): number {
    this.#typing.end()
    return this.#preview.end()
  }

  /** No edit is on its way any more. */
  settled = (): Promise<unknown> => this.#preview.settled()

  #hold(work: Promise<unknown> | undefined): void {
    if (work) this.#options.later(work.catch((error: unknown) => console.warn('The chat does not see this.', error)))
  }

  async #pause(): Promise<number | undefined> {
    const chat = this.#options.chat()
    const connection = chat && (await this.#options.connected(chat.origin))
    if (!connection || 'refused' in connection || !connection.settings.streaming) return undefined
    return chat.channel.editPause(chat.origin.isGroup)
  }

  #row(run: string, text: string): PartRow {
    const { outbox } = this.#options
    const known = outbox.ofRun(run).find(({ kind }) => kind === 'preview')
    if (known) return known
    const chat = this.#options.chat()
    const replyTo = this.#options.replyTo()
    const row = outbox.add({
      run,
      kind: 'preview',
      custody: prepared(clock.now()),
      chunk: firstOf(chat ? rendered(chat.channel, text) : []),
      ...(replyTo !== undefined && { replyTo }),
    })
    this.#typing.end()
    this.#options.go()
    return row
  }

  async #edit(id: string, text: string): Promise<Outcome> {
    const chat = this.#options.chat()
    const connection = chat && (await this.#options.connected(chat.origin))
    if (!connection || 'refused' in connection) return gone
    const chunk = firstOf(rendered(chat.channel, text))
    return chat.channel.send(connection.line, { place: chat.origin, chunk, edits: id })
  }
}

const gone = { of: 'gone', detail: 'the channel was removed' } as const
