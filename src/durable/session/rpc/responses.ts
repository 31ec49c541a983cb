/** RPC subject `responses`: reads runs, and parts of them, as responses of OpenAI's Responses API. */

import { mayOpen } from '../core/check-caller.ts'
import { RpcTarget } from 'cloudflare:workers'
import { actorOf } from '#agent/core/permission/audit.ts'
import { type Message, textIn } from '#agent/core/message.ts'
import { type Authority, hasScope } from '#agent/core/permission/authority.ts'
import { narrowByRoles } from '#agent/core/permission/roles.ts'
import type { ResponsePart } from '#agent/public-api/responses/response-ids.ts'
import type { ResponseStatus } from '#agent/public-api/responses/response.ts'
import { locate, type LocateRequest, type Location } from '../views/locate-response.ts'
import { readInputItems, readItem, readResponse } from '../views/read-response.ts'
import type { NewSession } from '#durable/storage/session-metadata.ts'
import type { TenantSnapshot } from '#durable/tenant/tenant-snapshot.ts'
import type { Session } from '../session.ts'
import type { SessionHost } from '../session-host.ts'
import { isLastRun } from '../views/read-session.ts'
import { undoTurns } from '../core/undo.ts'
import type { Counts } from '#agent/core/usage.ts'
import { createSummaryMessage } from '#agent/prompt/compression/summary-message.ts'
import { truncateMiddle } from '#agent/prompt/compression/truncate.ts'
import { estimateMessageTokens, estimateTokens } from '#agent/prompt/estimate-tokens.ts'
import type { ToolSchema } from '#agent/core/request/tool-schema.ts'
import { buildPrompt } from '#durable/turn/prompt/build-prompt.ts'

/** The session that a request without one would start. */
export type NewResponseSession = { readonly tenant: TenantSnapshot; readonly spec: NewSession }

/** Rendered as JSON, because the worker passes it on unread. */
export type RenderedResponse = {
  readonly status: ResponseStatus
  readonly hasMessage: boolean
  readonly json: string
}

const toJson = (value: object | undefined): string | undefined => value && JSON.stringify(value)

export class ResponsesSubject extends RpcTarget {
  readonly #host: SessionHost

  constructor(host: SessionHost) {
    super()
    this.#host = host
  }

  /** Undefined also for a part that never was, and for a run that was undone. */
  get(authority: Authority, part: ResponsePart): Promise<RenderedResponse | undefined> {
    return this.#host.with(authority, (session) => {
      const rights = narrowByRoles(authority, session.tenant.access.roles)
      const whole = readResponse(session, part, hasScope(rights, 'approve'))
      if (!whole) return undefined
      const { status, output } = whole
      return { status, hasMessage: output.some(({ type }) => type === 'message'), json: JSON.stringify(whole) }
    })
  }

  /** Removes the last run, and the session with its only one. Undefined when there is no such response. */
  async delete(authority: Authority, part: ResponsePart): Promise<Exclude<ResponseDeletion, 'only'> | undefined> {
    const outcome = await this.#host.with(authority, (session) => deleteResponse(session, part))
    if (outcome !== 'only') return outcome
    const isOnly = (session: Session) => isOnlyRun(session, part.runId)
    if (await this.#host.delete(actorOf(authority), isOnly)) return 'deleted'
    // Another run has begun meanwhile, or the session was deleted.
    return this.delete(authority, part)
  }

  /** The run that a response continues, and the calls that ids of the API name. */
  locate(authority: Authority, request: LocateRequest): Promise<Location | undefined> {
    return this.#host.with(authority, (session) => locate(session, request))
  }

  /** One item of the conversation, by the id that it has in the API. */
  item(authority: Authority, id: string): Promise<string | undefined> {
    return this.#host.with(authority, (session) => toJson(readItem(session, id)))
  }

  /** Summarises this session and what is added to it. A session that does not exist is an ephemeral one. */
  async summarise(
    authority: Authority,
    of: NewResponseSession,
    added: { readonly messages: readonly Message[]; readonly focus?: string | undefined },
  ): Promise<Summarised | undefined> {
    return this.#withNew(authority, of, (session) => summariseWith(session, added.messages, added.focus))
  }

  countTokens(authority: Authority, of: NewResponseSession, request: CountRequest): Promise<number | undefined> {
    return this.#withNew(authority, of, (session) => countTokens(session, request))
  }

  /** Calls `work` with the session of this object, or with one in memory that has no data. */
  #withNew<T>(
    authority: Authority,
    of: NewResponseSession,
    work: (session: Session) => T | Promise<T>,
  ): Promise<T | undefined> {
    return this.#host.asCaller(authority, async () => {
      if (!this.#host.isOwn(authority)) return undefined
      const { session } = this.#host
      await session.tenant.update(of.tenant)
      if (!session.exists && !(await session.load())) session.create({ ...of.spec, ephemeral: true }, authority)
      return mayOpen(session, authority) ? work(session) : undefined
    })
  }

  inputItems(authority: Authority, part: ResponsePart): Promise<string | undefined> {
    return this.#host.with(authority, (session) => toJson(readInputItems(session, part)))
  }
}

/** `followed`: other runs come after it. `open`: it has not ended. `only`: nothing was removed, the session can be. */
type ResponseDeletion = 'deleted' | 'followed' | 'open' | 'only'

/** Undefined when there is no such response. */
function deleteResponse(session: Session, part: ResponsePart): ResponseDeletion | undefined {
  if (!readResponse(session, part, false)) return undefined
  if (!isLastRun(session, part.runId) || !hasLastMessage(session, part.runId)) return 'followed'
  if (isOnlyRun(session, part.runId)) return 'only'
  if (session.store.hasOpenTurn) return 'open'
  undoTurns(session, 1)
  return 'deleted'
}

function isOnlyRun(session: Session, runId: string): boolean {
  if (!isLastRun(session, runId)) return false
  for (const { entries } of session.journal.entriesNewestFirst())
    if (entries.some((entry) => entry.runId !== runId)) return false
  return true
}

/** Answers beside the conversation and queued runs have no messages in it. */
function hasLastMessage({ journal }: Session, runId: string): boolean {
  const [newest] = journal.entriesNewestFirst()
  return newest?.entries.at(-1)?.runId === runId
}

type Summarised = { readonly text: string; readonly usage: Counts }

/** Without a usable model, an excerpt replaces the summary. The session itself does not change. */
async function summariseWith(
  session: Session,
  added: readonly Message[],
  focus: string | undefined,
): Promise<Summarised> {
  await session.ensureTenant()
  // The cost of the call is noted in the storage of the session.
  if (session.journal.isBlank) session.updateMeta({})
  session.arm()
  const messages = [...session.store.transcript(), ...added]
  const { text, usage } = await session.summariser.summariseMessages(messages, focus)
  return { text: textIn(createSummaryMessage(text, renderNewestRequest(messages))), usage }
}

const maxRequestChars = 8_000

/** A summary must not reword the request that is being worked on. */
function renderNewestRequest(messages: readonly Message[]): readonly string[] {
  const request = messages.findLast((message) => message.role === 'user' && !message.source)
  const text = request ? textIn(request) : ''
  return text ? [`The newest request, word for word:\n${truncateMiddle(text, maxRequestChars)}`] : []
}

/** `system`: the system text of the request. */
type CountRequest = {
  readonly messages: readonly Message[]
  readonly system: string
  readonly tools: readonly ToolSchema[]
}

/** Counts what the next model call would consist of: prompt, tools, conversation and the given messages. */
async function countTokens(session: Session, { messages, system, tools }: CountRequest): Promise<number> {
  const { toolRuntime, settings, meta } = session
  const { prompt } = meta.prompt === undefined ? await buildPrompt(session) : { prompt: meta.prompt }
  const schemas = toolRuntime.schemas(settings, tools.length ? { clientTools: tools } : {})
  const fixed = estimateTokens([prompt, system].join('\n')) + estimateTokens(JSON.stringify(schemas))
  const added = messages.reduce((sum, message) => sum + estimateMessageTokens(message), 0)
  return fixed + session.store.contextTokens() + added
}
