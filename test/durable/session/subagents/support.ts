/** Scripts for parents and subagents, and reads what a parent has received. */

import { actAs } from '#agent/core/permission/authority.ts'
import type { SubagentNode } from '#durable/session/rpc/subagent-tree.ts'
import { ownerAuthority } from '#test/support/authority.ts'
import { calls, model, type ModelRequest, type Reply, says, until } from '#test/support/scripted-model.ts'
import { call, newSession } from '#test/worker/client.ts'
import { listMessages } from '#test/worker/listen.ts'
import { fireAlarm, inObject, objectOf } from '../../support/object.ts'

export type Stored = { readonly role: string; readonly content: unknown; readonly source?: string | null }
export type Entry = {
  readonly task_index: number
  readonly subagent_id: string
  readonly status: string
  readonly summary: string
  readonly [more: string]: unknown
}
export type Results = { readonly results: readonly Entry[]; readonly note?: string }

const contentOf = (asked: ModelRequest, role: string) =>
  asked.messages.filter((message) => message.role === role).map(({ content }) => JSON.stringify(content))

/** The goal of the subagent that asks; undefined for a conversation. */
export const goalOf = (asked: ModelRequest): string | undefined =>
  /Goal:\\n(.*?)(?:\\n\\n|")/.exec(contentOf(asked, 'user')[0] ?? '')?.[1]

/** The number of results that the one who asks has. */
export const resultsIn = (asked: ModelRequest): number => contentOf(asked, 'tool').length

export const delegate = (input: object): Reply => calls({ name: 'delegate_task', input })

type Scripts = {
  /** The replies of the conversation, in order. */
  readonly parent: readonly Reply[]
  readonly child: (goal: string, asked: ModelRequest) => Reply
}

/** A conversation whose subagents have the same model. */
export async function conversation({ parent, child }: Scripts, settings: object = {}) {
  let nth = 0
  const scripted = model((asked) => {
    const goal = goalOf(asked)
    return goal === undefined ? (parent[nth++] ?? says('ok')) : child(goal, asked)
  })
  const { id } = await newSession({ model: scripted.id, settings })
  const ofChildren = () => scripted.requests.filter((asked) => goalOf(asked) !== undefined)
  return { id, scripted, ofChildren }
}

export const stored = (id: string) => listMessages<Stored>(id)
export const linesOf = async (id: string) =>
  (await stored(id)).map(({ role, source, content }) => `${source ?? role}: ${String(content)}`)
export const statusOf = async (id: string) => (await call('GET', `/api/sessions/${id}`)).body['status']

/** The results of calls of a tool, parsed. */
export const resultsOf = async (id: string, role = 'tool') =>
  (await stored(id))
    .filter((message) => message.role === role)
    .map(({ content }) => JSON.parse(String(content)) as Results)

export const internal = actAs(ownerAuthority(), { kind: 'session', id: 'test' })

export const treeOf = async (id: string): Promise<readonly SubagentNode[]> =>
  (await objectOf(id).subagents.tree(internal)) ?? []

export const childrenOf = async (id: string): Promise<readonly string[]> =>
  inObject(id, (_object, { storage }) => {
    const hasTable = storage.sql.exec("SELECT 1 FROM sqlite_master WHERE name = 'child'").toArray().length > 0
    return hasTable
      ? storage.sql
          .exec<{ id: string }>('SELECT id FROM child ORDER BY n')
          .toArray()
          .map(({ id: child }) => child)
      : []
  })

/** A parent asks a subagent it has heard nothing of after 30 s, which a death at the wrong moment can need. */
const restTimeoutMs = 50_000

/** Fires the alarms of these sessions until the first one is idle. */
export const rest = (id: string, others: () => readonly string[] | Promise<readonly string[]> = () => []) =>
  until(async () => {
    const rung = [id, ...(await others())].map((one) => fireAlarm(one).catch(() => undefined))
    await Promise.all(rung)
    return (await statusOf(id)) === 'idle'
  }, restTimeoutMs)
