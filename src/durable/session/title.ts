/** A title for a session that nobody named: at first the beginning of what was said, later a model's words. */

import { textIn, type UserMessage, userText } from '../../agent/model/message.ts'
import type { Settings } from '../../agent/model/settings.ts'
import type { SessionBilling } from '../tenant/session-billing.ts'
import type { Projection } from '../storage/projection.ts'
import type { SessionMetadata } from '../storage/session-metadata.ts'
import { addLateUsage } from '../storage/session-record.ts'
import { noAuxModel, type SideCall } from '../models/side-task.ts'
import type { SessionStore } from '../storage/store.ts'
import { clock } from '../platform/clock.ts'

const longest = 60

export function titleOf(message: UserMessage): string | null {
  const line = textIn(message).replace(/\s+/g, ' ').trim()
  if (!line) return null
  return line.length > longest ? `${line.slice(0, longest - 1)}…` : line
}

const brief = `Give the conversation below a title: three to seven words in the language of the person, that name what it is about.
Answer with the title alone: no quotation marks, no full stop, no "Title:". Do not answer the conversation.`

/** Of each message: the beginning is enough to tell what it is about. */
const shown = 1_500

/** What a model says when it is asked for a title, as one. Null: there is none in it. */
export function titleIn(answer: string): string | null {
  const [line = ''] = answer.trim().slice(0, shown).split('\n')
  const bare = line
    .replace(/^(?:#+\s*|title\s*:\s*)/i, '')
    .replace(/^["'“„«*_`]+|["'”“»*_`.]+$/g, '')
    .trim()
  return titleOf(userText(bare))
}

/** How long history waits for it: a title that comes with the first page costs nothing more. */
const pauseMs = 2_000

/** The session, as far as its title goes. */
export type TitledSession = {
  readonly exists: boolean
  readonly meta: SessionMetadata
  readonly settings: Settings
  readonly store: SessionStore
  readonly billing: SessionBilling
  readonly projection: Projection
  readonly side: SideCall
  readonly updateMeta: (change: Partial<SessionMetadata>) => void
  readonly later: (work: Promise<unknown>) => void
  readonly turns: { readonly project: () => Promise<void>; readonly settle: (runId: string) => void }
}

export class Titles {
  /** Nobody has named the session, and its first turn began in this life of the object: at most one is asked for. */
  isUntitled = false
  readonly #core: TitledSession
  readonly #deployed: string | undefined

  constructor(core: TitledSession, { AUX_MODEL }: Env) {
    this.#core = core
    this.#deployed = AUX_MODEL?.trim()
  }

  async create(): Promise<void> {
    const isWanted = this.isUntitled && this.#wants()
    this.isUntitled = false
    if (!isWanted) return
    const { id } = this.#core.store.turn()
    const titled = giveTitle(this.#core)
    const isLate = await Promise.race([titled.then(() => false), clock.wait(pauseMs).then(() => true)])
    if (isLate) this.#core.later(titled.then(() => this.#again(id)))
  }

  /** Never of a turn without an answer. A title is not worth a call of the main model, unless somebody says so. */
  #wants(): boolean {
    const { store, settings } = this.#core
    const { stage } = store.turn()
    if (stage.at !== 'done' || stage.outcome !== 'answered' || this.#deployed === noAuxModel) return false
    const { enabled, model } = settings.auxiliary?.title_generation ?? {}
    return enabled ?? (model !== undefined || Boolean(this.#deployed))
  }

  /** The page that ends the turn is there without what it cost. */
  #again(runId: string): Promise<void> {
    this.#core.projection.repeatTurn(runId)
    return this.#core.turns.project()
  }
}

async function giveTitle(core: TitledSession): Promise<void> {
  const { id } = core.store.turn()
  const before = core.meta.title
  const words = core.store
    .transcript()
    .filter(({ role }) => role !== 'tool')
    .slice(0, 4)
    .map((message) => `[${message.role}] ${textIn(message).slice(0, shown)}`)
  const answer = await core.side('title_generation', {
    system: brief,
    transcript: [userText(words.join('\n\n'))],
    maxTokens: 200,
    billedBy: 'caller',
  })
  if (!core.exists) return
  const said = answer.of === 'said' ? titleIn(answer.text) : null
  // Somebody may have named it meanwhile.
  const named = said !== null && core.meta.title === before ? { title: said } : {}
  const turn = core.store.turn()
  if (turn.id !== id) {
    if (answer.note !== undefined) core.billing.addSideCall({ id: answer.note, usage: answer.usage })
    if ('title' in named) core.updateMeta(named)
    return
  }
  if (answer.note !== undefined) core.billing.notes.delete([answer.note])
  if (!answer.usage.by && !('title' in named)) return
  core.updateMeta({ ...named, ...addLateUsage(core.meta, id, answer.usage) })
  core.turns.settle(id)
}
