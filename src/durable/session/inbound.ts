/**
 * What comes from a chat. It is accepted in one stretch of code: the key of the event, and what was said. However often
 * the platform delivers it, and however many at once, it is one turn.
 */

import type { ApprovalAnswer } from '../../agent/model/approval.ts'
import type { Asker, Origin } from '../../agent/model/delivery.ts'
import { userText } from '../../agent/model/message.ts'
import { hearWhileBusy } from './submit-while-busy.ts'
import { pressedIn } from '../channels/pending-request-message.ts'
import { failpoint } from '../platform/failpoint.ts'
import { isQuestion, waitingFor, waitingItems } from '../turn/pending-requests.ts'
import type { Session } from './session.ts'
import type { TenantSnapshot } from '../tenant/tenant-snapshot.ts'
import { clock } from '../platform/clock.ts'

export type FromChat = {
  /** The same for every delivery of the same event. */
  readonly key: string
  /** Of the turn that it begins, if it does: one for all deliveries too. */
  readonly runId: string
  readonly origin: Origin
  readonly asker: Asker
  readonly name: string
  readonly text: string
  /** Nobody meant us: it waits for the next turn. */
  readonly isOverheard: boolean
  readonly mode: 'interrupt' | 'queue' | 'steer'
  readonly tenant: TenantSnapshot
}

/** `known`: it had been delivered before. `full`: a limit of the tenant is reached, and the chat is told so. */
export type Taken = 'taken' | 'known' | 'full'

export async function takeFromChat(core: Session, said: FromChat): Promise<Taken> {
  await core.known.know(said.tenant)
  const { origin } = said
  if (!core.exists && !(await core.load())) core.create({ source: origin.platform, origin })
  if (core.delivery.inboundEvents.has(said.key)) return 'known'
  return said.isOverheard ? overhear(core, said) : take(core, said)
}

const lineOf = ({ origin, name, text }: FromChat) => (origin.isGroup ? `${name}: ${text}` : text)

/** The row of the session has to be there for whoever wakes the object. */
function storeSession(core: Session): void {
  if (core.journal.isBlank) core.updateMeta({})
}

function overhear(core: Session, said: FromChat): Taken {
  storeSession(core)
  core.delivery.inboundEvents.note(said.key, clock.now(), lineOf(said))
  return 'taken'
}

async function take(core: Session, said: FromChat): Promise<Taken> {
  const { inboundEvents: heard } = core.delivery
  const { runId } = said
  const needsPlace = !core.store.hasOpenTurn
  const isAdmitted = !needsPlace || (await core.billing.admit(runId))
  // The same may have come a second time while that was asked, and something else may have begun.
  const isKnown = heard.has(said.key)
  const begins = isAdmitted && !isKnown && !core.store.hasOpenTurn
  if (isKnown) return 'known'
  if (needsPlace && isAdmitted && !begins) core.release(runId)
  heard.note(said.key, clock.now())
  if (!isAdmitted) return refuse(core)
  say(core, said, begins)
  void failpoint('accepted')
  return 'taken'
}

function refuse(core: Session): Taken {
  storeSession(core)
  core.delivery.say('A limit of this tenant is reached, so this was not taken. Please try again later.')
  return 'full'
}

function say(core: Session, said: FromChat, begins: boolean): void {
  const { runId, asker, mode } = said
  const line = lineOf(said)
  const before = core.delivery.inboundEvents.overheard()
  const words = before.length ? `[Said in the group before, not to you:]\n${before.join('\n')}\n\n${line}` : line
  const message = userText(words)
  const options = { asker }
  if (begins) return core.begin({ runId, message, options })
  // Whoever is asked and writes has answered.
  const isAsked = waitingItems(core).some(isQuestion)
  const { status } = hearWhileBusy(core, { runId, mode: isAsked ? 'steer' : mode, options }, message)
  if (status === 'too-large')
    core.delivery.say('Too much waits to be answered already, so this was not taken. Please send it again later.')
}

export type Pressed = { readonly data: string; readonly person: string; readonly isAdmin: boolean }

export type Pressing = {
  readonly answer: (request: string, answer: string) => Promise<boolean | undefined>
  readonly decide: (request: string, answer: ApprovalAnswer) => Promise<string | undefined>
}

/** The words for whoever pressed, and what the message says from then on, if that changes. */
export type PressAnswer = { readonly toast: string; readonly ends?: string }

const expired: PressAnswer = { toast: 'Expired: nobody waits for this any more.' }

export async function press(core: Session, { data, person, isAdmin }: Pressed, on: Pressing): Promise<PressAnswer> {
  const pressed = askedBy(core, data)
  if (!pressed) return expired
  const { asks, text, choice } = pressed
  if (!isAdmin && asks.person !== person) return { toast: 'Only who asked, or an admin, may answer this.' }
  const waits = waitingFor(core, asks.request)
  if (!waits) return expired
  const isTaken = isQuestion(waits)
    ? await on.answer(asks.request, choice)
    : (await on.decide(asks.request, { decision: choice as ApprovalAnswer['decision'] })) === 'decided'
  return isTaken ? { toast: `Taken: ${choice}`.slice(0, 190), ends: `${text}\n\n→ ${choice}` } : expired
}

/** The row that the button stands on, and what the button stands for. */
function askedBy(core: Session, data: string) {
  const pressed = pressedIn(data)
  const row = pressed && core.delivery.outbox.get(pressed.row)
  const choice = row?.asks?.choices[pressed?.n ?? -1]
  return row?.asks && choice !== undefined ? { asks: row.asks, text: row.chunk.text, choice } : undefined
}
