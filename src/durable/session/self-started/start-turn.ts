/** Starts a turn of the session itself, with the rights of the person who asked for it. */

import { findRefusal, getHolder } from '#agent/core/permission/access.ts'
import { actAs, type Authority } from '#agent/core/permission/authority.ts'
import { narrowByRoles } from '#agent/core/permission/roles.ts'
import { type MessageSource, userText } from '#agent/core/message.ts'
import { newRunId } from '#durable/platform/ids.ts'
import { lastingOptions } from '../intake/injected.ts'
import type { Composed } from '../intake/intake.ts'
import type { Session } from '../session.ts'
import { submit } from '../submit.ts'

/** Why nothing may be started for the person who asked for it. Undefined: it may. */
export function refusalFor({ tenant }: Session, authority: Authority): string | undefined {
  switch (findRefusal(tenant.access, getHolder(authority, 'chat'))) {
    case 'key-revoked':
      return 'The key that it was set with has been revoked.'
    case 'role-changed':
      return 'The role of its owner does not allow chats any more.'
    default:
      return undefined
  }
}

export type OwnTurn = {
  /** Of the person who asked for it. */
  readonly authority: Authority
  readonly source: MessageSource
  /**
   * Called in the stretch that opens the turn: what it stores and the turn are one write. Undefined when the turn is not
   * wanted any more.
   */
  readonly begin: (runId: string) => { readonly text: string; readonly calls?: Composed['calls'] } | undefined
}

/** True when the turn runs. While a limit refuses it, nothing of the session itself is tried. */
export async function startOwnTurn(session: Session, { authority, source, begin }: OwnTurn): Promise<boolean> {
  const runId = newRunId(session.sessionId)
  // No person is present: the limits of unattended turns apply.
  const own = actAs(narrowByRoles(authority, session.tenant.access.roles), { kind: 'session', id: session.sessionId })
  const compose = (): Composed | undefined => {
    const begun = begin(runId)
    return (
      begun && {
        message: userText(begun.text, source),
        options: lastingOptions(session, [own]),
        ...(begun.calls && { calls: begun.calls }),
      }
    )
  }
  const outcome = await submit(session, { kind: 'self-started', authority: own, runId, compose })
  if (outcome?.status === 'over-limit') session.selfStart.postpone(outcome.retryAfter * 1_000)
  return outcome?.status === 'running'
}
