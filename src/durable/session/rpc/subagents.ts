/** RPC subject `subagents`: what a parent and its subagents call at each other, and the tree for the API. */

import { RpcTarget } from 'cloudflare:workers'
import type { Authority } from '#agent/core/permission/authority.ts'
import type { SteerOutcome, SubagentReport } from '#agent/core/subagent.ts'
import type { SessionHost } from '../session-host.ts'
import { startSubagent, statusOfSubagent, steerSubagent } from '../subagents/child-side.ts'
import { type FileChanges, findChanges, packFiles } from '../subagents/files.ts'
import type { ChildStart, ChildStatus, StartOutcome } from '../subagents/parent-session.ts'
import { readTree, type SubagentNode } from '../subagents/tree.ts'
import { sessionStub } from '#durable/platform/addresses.ts'

export class SubagentsSubject extends RpcTarget {
  readonly #host: SessionHost

  constructor(host: SessionHost) {
    super()
    this.#host = host
  }

  // --- called by the parent

  /** Starts this session as a subagent. Repeating it changes nothing. */
  start(authority: Authority, start: ChildStart): Promise<StartOutcome> {
    return this.#host.asCaller(authority, async (): Promise<StartOutcome> => {
      const { session, env } = this.#host
      return this.#host.isOwn(authority)
        ? startSubagent(session, start, env)
        : { kind: 'refused', reason: 'it belongs to another tenant.' }
    })
  }

  /** The activity of the run, or how it ended. Resumes it when it has no driver. */
  async status(authority: Authority, runId: string): Promise<ChildStatus> {
    const status = await this.#host.with(authority, (session) => {
      session.turns.resumeIfUndriven()
      return statusOfSubagent(session, runId)
    })
    return status ?? { kind: 'missing' }
  }

  async steer(
    authority: Authority,
    steer: { readonly runId: string; readonly key: string; readonly message: string },
  ): Promise<SteerOutcome> {
    return (await this.#host.with(authority, (session) => steerSubagent(session, authority, steer))) ?? 'missed'
  }

  /** The files that differ from those of the parent when the subagent started. */
  async changes(authority: Authority): Promise<FileChanges> {
    const changes = await this.#host.with(authority, (session) => findChanges(session))
    return changes ?? { list: [] }
  }

  // --- called by a subagent

  /** The files of the workspace as a tar archive. */
  files(authority: Authority): Promise<ReadableStream<Uint8Array> | undefined> {
    return this.#host.with(authority, (session) => packFiles(session))
  }

  /** False when this session has no such subagent. */
  async report(authority: Authority, id: string, report: SubagentReport): Promise<boolean> {
    return (await this.#host.with(authority, ({ subagents }) => subagents.receiveReport(id, report))) ?? false
  }

  // --- for the API

  /** Undefined when there is no such session. */
  tree(authority: Authority, depth = 1): Promise<readonly SubagentNode[] | undefined> {
    return this.#host.with(authority, ({ subagents, tenantId }) =>
      readTree(subagents.rows.all(), depth, async (id, below) => {
        const stub = sessionStub(this.#host.env, tenantId, id)
        return (await stub.subagents.tree(authority, below)) ?? []
      }),
    )
  }
}
