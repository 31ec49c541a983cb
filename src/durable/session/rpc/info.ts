/** RPC subject `info`: reads, creates, updates and deletes a session. */

import { RpcTarget } from 'cloudflare:workers'
import { actorOf } from '#agent/core/permission/audit.ts'
import type { Authority } from '#agent/core/permission/authority.ts'
import { patchSettings, type Settings, type SettingsFault } from '#agent/core/settings.ts'
import type { NewSession } from '#durable/storage/session-metadata.ts'
import type { TenantSnapshot } from '#durable/tenant/tenant-snapshot.ts'
import { recordSettings } from '../core/contributions.ts'
import { mayOpen } from '../core/check-caller.ts'
import { rebuildPrompt } from '#durable/turn/prepare-turn.ts'
import { assumedWindow, type ContextView, readContext } from '../views/read-context.ts'
import { type RunView, sessionView, type SessionView } from '../views/api-views.ts'
import { type SessionStatus, getStatus } from '#durable/turn/pending-requests.ts'
import { tightenSettings } from '#agent/policy/settings/tighten-settings.ts'
import { expandToolsets } from '#tools/tools-for.ts'
import type { Session } from '../session.ts'
import type { SessionHost } from '../session-host.ts'
import { textIn } from '#agent/core/message.ts'
import { contextTokens } from '#durable/turn/context-tokens.ts'
import { runOf } from '../views/read-session.ts'

/** Settings that are older than the check of policy lose what the check would have refused. */
function checkedSettings({ meta, tenant }: Session): Settings {
  if (meta.isPolicyChecked) return meta.settings
  return tightenSettings(tenant.snapshot?.settings ?? {}, meta.settings, { expand: expandToolsets, mayDiffer: false })
}

type SessionChange = {
  readonly title?: string | null
  readonly model?: string | null
  readonly settings?: object
  readonly prompt?: 'now'
  readonly pinned?: boolean
  readonly archived?: boolean
  readonly tags?: readonly string[]
  /** null: it leaves its project. */
  readonly projectId?: string | null
}

function isInactiveSince(session: Session, before: number): boolean {
  const { store, meta, toolRuntime } = session
  const works = [meta.goal, meta.heartbeat, meta.loop].some(
    (one) => one && ['active', 'waiting'].includes(one.state.at),
  )
  const runs = toolRuntime.processes.list().some(({ state }) => state.at === 'running')
  return !store.hasOpenTurn && !works && !runs && session.record().updatedAt < before
}

export class InfoSubject extends RpcTarget {
  readonly #host: SessionHost

  constructor(host: SessionHost) {
    super()
    this.#host = host
  }

  get(authority: Authority): Promise<SessionView | undefined> {
    return this.#host.with(authority, (session) => sessionView(session.record(), getStatus(session)))
  }

  /** With what runs and waits, and how full the context is. */
  detail(authority: Authority): Promise<SessionDetail | undefined> {
    return this.#host.with(authority, readSessionDetail)
  }

  /** Does not read history, because lists call it for many sessions. */
  status(authority: Authority): SessionStatus {
    const { session } = this.#host
    return this.#host.isOwn(authority) && session.exists ? getStatus(session) : 'idle'
  }

  /** Creating a session that exists changes nothing. */
  async create(authority: Authority, spec: NewSession, tenant: TenantSnapshot): Promise<SessionView | undefined> {
    return this.#host.asCaller(authority, async () => {
      if (!this.#host.isOwn(authority)) return undefined
      const { session } = this.#host
      await session.tenant.update(tenant)
      if (session.exists && !mayOpen(session, authority)) return undefined
      session.create(spec, authority)
      session.updateMeta({})
      return this.#host.view()
    })
  }

  context(authority: Authority): Promise<ContextView | undefined> {
    return this.#host.with(authority, (session) => readContext(session, authority))
  }

  /** Absent fields are unchanged. `settings` is a patch: null resets a value. `prompt`: it is built again, with all changes. */
  update(
    authority: Authority,
    { prompt, projectId, ...change }: SessionChange,
  ): Promise<{ kind: 'updated'; view: SessionView } | SettingsFault | undefined> {
    return this.#host.with(authority, async (session) => {
      await session.ensureTenant()
      const patched = change.settings && patchSettings(checkedSettings(session), change.settings)
      if (patched?.kind === 'wrong') return patched
      session.updateMeta({
        ...change,
        oneShot: undefined,
        ...(patched && {
          settings: patched.settings,
          isPolicyChecked: true as const,
          ...recordSettings(session, authority, patched.settings),
        }),
      })
      if (projectId !== undefined)
        await (await import('../core/project.ts')).moveToProject(session, authority, projectId)
      if (prompt === 'now') {
        await session.tenant.refresh()
        await rebuildPrompt(session)
      }
      const view = await this.#host.view()
      session.announcer.changed(true)
      return { kind: 'updated', view }
    })
  }

  /** Deletes an ephemeral session after its answer, unless its run waits for the caller. */
  async deleteUnstored(authority: Authority): Promise<void> {
    await this.#host.with(authority, async (session) => {
      if (session.meta.ephemeral && getStatus(session) !== 'waiting') await this.#host.delete()
    })
  }

  /**
   * Deletes a session that has not been active since `before`. False when it stays: the directory may be older than the
   * session, and work that it does by itself keeps it.
   */
  async prune(authority: Authority, before: number): Promise<boolean> {
    const isInactive = (session: Session) => isInactiveSince(session, before)
    return this.#host.asCaller(
      authority,
      async () => this.#host.isOwn(authority) && this.#host.delete(actorOf(authority), isInactive),
    )
  }

  /**
   * False when there is no such session. Can be repeated after a failure. `isRequested`: a client asked for it, so that
   * the audit log has it.
   */
  async delete(authority: Authority, isRequested = false): Promise<boolean> {
    const actor = isRequested ? actorOf(authority) : undefined
    return this.#host.asCaller(
      authority,
      async () => this.#host.isOwn(authority) && this.#host.delete(actor, (session) => mayOpen(session, authority)),
    )
  }
}

// Builds the view of one session: its record, what runs and waits in it, and how full its context is.

type SessionDetail = SessionView & {
  readonly event_seq: number
  readonly run: Pick<RunView, 'run_id' | 'status' | 'activity' | 'started_at'> | null
  readonly queued: readonly { readonly run_id: string; readonly input: string }[]
  readonly context: { readonly tokens: number; readonly window: number }
}

const maxInputChars = 2_000

/** Everything is read in one turn of the object: the events behind `event_seq` are what happens afterwards. */
async function readSessionDetail(session: Session): Promise<SessionDetail> {
  await session.ensureTenant()
  const { store, meta } = session
  const run = store.hasOpenTurn ? runOf(session, store.turn().id) : undefined
  const model = session.promptModel(store.current()?.options.model ?? meta.model ?? undefined)
  return {
    ...sessionView(session.record(), getStatus(session)),
    event_seq: store.shownThrough(),
    run: run ? { run_id: run.run_id, status: run.status, activity: run.activity, started_at: run.started_at } : null,
    queued: store
      .queued()
      .map(({ item: { runId, message } }) => ({ run_id: runId, input: textIn(message).slice(0, maxInputChars) })),
    context: { tokens: contextTokens(session), window: model?.contextWindow ?? assumedWindow },
  }
}
