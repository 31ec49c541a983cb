/** Creates the title of a session: first from the beginning of its first message, then with a model after its first turn. */

import { type OpeningMessage, textIn, userText } from '#agent/core/message.ts'
import { classifySource } from '#agent/memory/session-source.ts'
import { addLateUsage } from '#durable/storage/session-record.ts'
import { noAuxModel } from '#durable/models/side-call.ts'
import type { Session } from '../session.ts'
import { withTimeout } from '#durable/platform/timeout.ts'

const maxTitleChars = 60
/** Half of a character, where a title is cut. */
const halfAtEnd = /[\ud800-\udbff]$/

/** The note that names a file of a message. Behind it are the contents of the files. */
const attachedFile =
  /\n?\[(?:Attached file|File of the message replied to): (?:uploads\/[^\n/]{1,40}\/)?([^\n/]{1,255}?)(?: \([\w.+-]{1,60}\/[\w.+-]{1,80}\))?\]/

/** The words of a message, or the name of its first file. */
export function titleFrom(message: OpeningMessage): string | null {
  if (message.role === 'tool') return null
  const text = textIn(message)
  const [words = ''] = text.split(attachedFile, 1)
  const line = (words.trim() || (attachedFile.exec(text)?.[1] ?? '')).replace(/\s+/g, ' ').trim()
  if (!line) return null
  const shown = line.length > maxTitleChars ? `${line.slice(0, maxTitleChars - 1).replace(halfAtEnd, '')}…` : line
  return shown.toWellFormed()
}

const instructions = `Give the conversation below a title: three to seven words in the language of the person, that name what it is about.
Answer with the title alone: no quotation marks, no full stop, no "Title:". Do not answer the conversation.`

/** The model sees the beginning of each message. */
const maxMessageChars = 1_500

/** Parses the title from a model's answer. Null when there is none in it. */
export function parseTitle(answer: string): string | null {
  const [line = ''] = answer.trim().slice(0, maxMessageChars).split('\n')
  const bare = line
    .replace(/^(?:#+\s*|title\s*:\s*)/i, '')
    .replace(/^["'\u201c\u201e\u00ab*_`]+|["'\u201d\u201c\u00bb*_`.]+$/g, '')
    .trim()
  return titleFrom(userText(bare))
}

/** The maximum wait for the title before history is written, because a later title needs a second write. */
const titleWaitMs = 2_000

export class Titles {
  /** Set when the first turn of an untitled session started in this object: at most one title is created. */
  isUntitled = false
  readonly #session: Session
  readonly #deployed: string | undefined

  constructor(session: Session, { AUX_MODEL }: Env) {
    this.#session = session
    this.#deployed = AUX_MODEL?.trim()
  }

  async create(): Promise<void> {
    const isWanted = this.isUntitled && this.#isEnabled()
    this.isUntitled = false
    if (!isWanted) return
    const { id } = this.#session.store.turn()
    const titled = createTitle(this.#session, this.#session.settings.auxiliary?.title_generation?.enabled !== true)
    const isLate = await withTimeout(
      titled.then(() => false),
      titleWaitMs,
      () => true,
    )
    if (isLate) this.#session.runInBackground(titled.then(() => this.#reproject(id)))
  }

  /** Only after an answered turn of a session that stays and that people read. */
  #isEnabled(): boolean {
    const { store, settings, meta } = this.#session
    const { stage } = store.turn()
    if (stage.at !== 'done' || stage.outcome !== 'answered' || this.#deployed === noAuxModel) return false
    if (meta.ephemeral || meta.oneShot || classifySource(meta.source) !== 'interactive') return false
    return settings.auxiliary?.title_generation?.enabled ?? true
  }

  /** Sends the last page again: it was written without the cost of the title. */
  #reproject(runId: string): Promise<void> {
    this.#session.projection.repeatTurn(runId)
    return this.#session.turns.project()
  }
}

/** `isCheapOnly`: without a cheap model, the title stays the beginning of the first message. */
async function createTitle(session: Session, isCheapOnly: boolean): Promise<void> {
  const { id } = session.store.turn()
  const before = session.meta.title
  const words = session.store
    .transcript()
    .filter(({ role }) => role !== 'tool')
    .slice(0, 4)
    .map((message) => `[${message.role}] ${textIn(message).slice(0, maxMessageChars)}`)
  const answer = await session.side('title_generation', {
    system: instructions,
    transcript: [userText(words.join('\n\n'))],
    maxTokens: 200,
    isCheapOnly,
    billedBy: 'caller',
  })
  if (!session.exists) return
  const title = answer.kind === 'answered' ? parseTitle(answer.text) : null
  // A person may have set a title during the wait.
  const change = title !== null && session.meta.title === before ? { title } : {}
  const turn = session.store.turn()
  if (turn.id !== id) {
    if (answer.note !== undefined) session.billing.addSideCall({ id: answer.note, usage: answer.usage })
    if ('title' in change) session.updateMeta(change)
    return
  }
  if (answer.note !== undefined) session.billing.notes.delete([answer.note])
  if (!answer.usage.by && !('title' in change)) return
  session.updateMeta({ ...change, ...addLateUsage(session.meta, id, answer.usage) })
  session.turns.settle(id)
}
