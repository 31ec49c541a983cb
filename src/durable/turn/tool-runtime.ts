/** Provides the tools of one session and what they use: its backend, processes, todos, documents and history. */

import { log } from '../../agent/model/log.ts'
import { BoundedMap } from '../../agent/model/bounded-map.ts'
import { type Authority, historyReach } from '../../agent/model/authority.ts'
import type { Services, ServiceName, Tool, Toolbox } from '../../agent/model/tool.ts'
import { hash53 } from '../../agent/model/hash53.ts'
import type { ToolSchema } from '../../agent/model/dialect.ts'
import { defaultSettings, type Limits, type Settings } from '../../agent/model/settings.ts'
import type { Result, ToolCall } from '../../agent/model/turn.ts'
import { type SystemPromptParts, renderSystemPrompt } from '../../agent/prompt/system-prompt.ts'
import { createReachableHistory } from '../../db/history.ts'
import { openDocuments } from '../../backends/pdf/pdf.ts'
import { openPrograms, type RunProgram } from '../../backends/isolate/programs.ts'
import { type CallProgress, type DispatchOptions, dispatch, concurrentCalls } from '../../tools/dispatch.ts'
import { checkPermission, type PermissionContext } from '../../tools/check-permission.ts'
import { attachmentPrefix, storeResultImages } from '../workspace/attachments.ts'
import { noCapabilities, openBackend, resolveBackendKind } from '../workspace/open-backend.ts'
import { grantedSecrets } from '../workspace/command-secrets.ts'
import { openCheckpointArchive } from '../workspace/checkpoint-archive.ts'
import { failpoint } from '../platform/failpoint.ts'
import { type ProgramLog, withPrograms } from './programs.ts'
import { sessionTools, type SessionTools } from './session-tools.ts'
import { SessionProcesses } from '../processes/process-registry.ts'
import type { ProcessRows } from '../processes/process-rows.ts'
import {
  hostMemory,
  type SessionBackend,
  sessionBackend,
  type SessionBackendOptions,
} from '../workspace/session-backend.ts'
import type { SessionMetadata } from '../storage/session-metadata.ts'
import { createTenantFetch } from '../tenant/tenant-fetch.ts'
import { clock } from '../platform/clock.ts'
import { redactorFor } from '../platform/redaction.ts'
import type { OpenedSecrets } from '../platform/tenant-secrets.ts'

export type ToolRuntimeOptions = {
  readonly env: Env
  readonly sql: SqlStorage
  readonly tenantId: string
  readonly sessionId: string
  readonly meta: () => SessionMetadata
  /** `limits` is undefined until `load` has resolved. */
  readonly settings: {
    readonly now: () => Settings
    readonly limits: () => Limits | undefined
    readonly load: () => Promise<void>
  }
  /** Of the tenant: the settings say which of them commands get. */
  readonly secrets: () => OpenedSecrets
  readonly updateMeta: (change: Partial<SessionMetadata>) => void
  readonly runInBackground: (work: Promise<unknown>) => void
  readonly processes: { readonly rows: ProcessRows; readonly step: () => number }
  /** Tools of MCP servers, plugins and skills: the same array as long as they are the same. Absent: there are none. */
  readonly tenantTools?: () => readonly Tool[]
}

export type RunOptions = Pick<PermissionContext, 'policy' | 'judge'> & {
  readonly settings: Settings
  /** That of the turn. */
  readonly authority: Authority
  readonly signal: AbortSignal
  /** Stores the calls that programs make. */
  readonly programs: ProgramLog
  /** Characters of the results that their batch has already. */
  readonly usedChars: number
  /** The run that makes the calls. */
  readonly runId: string
  /** Publishes what running calls print. */
  readonly onProgress: (progress: CallProgress) => void
  /** Whether the model of the turn reads images. */
  readonly seesImages: boolean
}

/** The part of the turn's authority that limits its tools. */
type ToolAuthority = Pick<Authority, 'toolBounds'>

export class ToolRuntime {
  readonly #options: ToolRuntimeOptions
  readonly #services: Omit<Services, 'programs'>
  /** Absent without the LOADER binding. */
  readonly #runProgram: RunProgram | undefined
  readonly backend: SessionBackend
  readonly processes: SessionProcesses
  #toolbox:
    | {
        readonly of: Settings
        readonly tenantTools: readonly Tool[] | undefined
        readonly bounds: Authority['toolBounds']
        readonly selected: SessionTools
      }
    | undefined

  constructor(options: ToolRuntimeOptions) {
    this.#options = options
    const { env, sql, tenantId, sessionId, meta, updateMeta } = options
    const recordAccess: Pick<SessionBackendOptions, 'record' | 'write'> = {
      record: () => meta().machine,
      write: (machine) => updateMeta({ machine }),
    }
    const { now, limits } = options.settings
    const guardedFetch = createTenantFetch(env, tenantId, options.runInBackground)
    const context = { env, sql, tenantId, sessionId, settings: now, limits, guardedFetch }
    this.backend = sessionBackend({
      ...recordAccess,
      open: (kind) => openBackend(kind, { ...context, memory: hostMemory(kind, recordAccess) }),
      requestedKind: () => resolveBackendKind(options.settings.now(), env),
      waitForSettings: options.settings.load,
      noCapabilities: noCapabilities,
      secrets: () => ({
        env: grantedSecrets(now(), options.secrets()),
        isIn: (text) => redactorFor(env, tenantId).redactExact(text) !== text,
      }),
      archive:
        env.BLOBS &&
        openCheckpointArchive({
          sql,
          blobs: env.BLOBS,
          prefix: `t/${tenantId}/s/${sessionId}/checkpoints/`,
          now: clock.now,
        }),
    })
    this.processes = new SessionProcesses({
      ...options.processes,
      jobs: () => this.backend.jobs,
      kind: () => this.backend.kind,
      jobsOn: this.backend.jobsOn,
      now: clock.now,
      redact: (text) => redactorFor(env, tenantId).redact(text),
    })
    this.#runProgram = env.LOADER && openPrograms({ loader: env.LOADER, tenantId })
    this.#services = {
      backend: this.backend,
      documents: openDocuments({ loader: env.LOADER }),
      // Replaced by what the authority of each call reaches.
      history: createReachableHistory(env.DB, { tenantId, sessionId: options.sessionId }, { kind: 'session' }),
      todos: { read: () => meta().todos, write: (todos) => updateMeta({ todos }) },
      shell: {
        read: () => meta().shell ?? { cwd: this.backend.capabilities.root, env: {} },
        write: (shell) => {
          if (JSON.stringify(shell) !== JSON.stringify(meta().shell)) updateMeta({ shell })
        },
      },
      processes: this.processes,
      person: true,
    }
  }

  systemPrompt({ instructions, timezone = defaultSettings.timezone }: Settings, at: number): string {
    return promptFor({ workspace: this.backend.describe(), instructions, date: dateIn(timezone, at), timezone })
  }

  /** The tools that these settings and the authority of the turn allow, and that have what they need. */
  toolbox(settings: Settings, authority: ToolAuthority): Toolbox {
    return this.#sessionTools(settings, authority).tools
  }

  schemas(settings: Settings, authority: ToolAuthority): readonly ToolSchema[] {
    return this.#sessionTools(settings, authority).schemas
  }

  /** Returns the first of these calls that may run concurrently. */
  together(calls: readonly ToolCall[], settings: Settings, authority: ToolAuthority): readonly ToolCall[] {
    return concurrentCalls(calls, { toolbox: this.toolbox(settings, authority), services: this.#services })
  }

  run(
    calls: readonly ToolCall[],
    { settings, authority, signal, runId, programs, seesImages, usedChars, onProgress, ...approvals }: RunOptions,
  ): AsyncIterable<Result> {
    const { env, tenantId, sessionId } = this.#options
    const history = createReachableHistory(env.DB, { tenantId, sessionId }, historyReach(authority))
    const services = { ...this.#services, history }
    this.backend.begin(runId)
    const { backend, shell } = services
    const describeLocation = () => `${backend.kind} ${shell.read().cwd}`
    const dispatchOptions: DispatchOptions = {
      toolbox: this.toolbox(settings, authority),
      services,
      permit: (call, tool) => checkPermission(call, tool, { services, describeLocation, now: clock.now, ...approvals }),
      context: { sessionId, authority, signal, clock, seesImages },
      schedule: clock.schedule,
      progress: { emit: onProgress, openRedaction: () => redactorFor(env, tenantId).stream() },
      usedChars,
      redactor: () => redactorFor(env, tenantId),
      spill: (callId, text) => this.#spill(callId, text),
      failpoint: (moment) => failpoint(`${moment}-tool`),
      logError: (error, tool) =>
        log.error('tool.failed', `The tool ${tool} failed.`, {
          error,
          tenant_id: tenantId,
          session_id: sessionId,
          run_id: runId,
        }),
    }
    const results = dispatch(
      calls,
      this.#runProgram ? withPrograms(dispatchOptions, this.#runProgram, programs) : dispatchOptions,
    )
    return storeResultImages(results, env.BLOBS, attachmentPrefix(tenantId, sessionId))
  }

  /** Deletes the files and attachments of the session outside its own rows. */
  async removeFiles(): Promise<void> {
    const { env, tenantId, sessionId } = this.#options
    await this.backend.destroy()
    for (;;) {
      const found = await env.BLOBS?.list({ prefix: `t/${tenantId}/s/${sessionId}/` })
      if (!found?.objects.length) return
      await env.BLOBS?.delete(found.objects.map(({ key }) => key))
    }
  }

  /** Stores a long result as a file. Models reuse call ids, so the name contains a hash of the text. */
  async #spill(callId: string, text: string): Promise<string> {
    const path = `/tmp/results/${callId.replace(/[^\w-]/g, '_').slice(0, 64)}-${hash53(text).toString(36)}.txt`
    await this.backend.files.write(path, new TextEncoder().encode(text))
    return path
  }

  #serviceNames(): readonly ServiceName[] {
    const names = Object.keys(this.#services) as ServiceName[]
    return this.#runProgram ? [...names, 'programs'] : names
  }

  #sessionTools(settings: Settings, { toolBounds: bounds }: ToolAuthority): SessionTools {
    const tenantTools = this.#options.tenantTools?.()
    const known = this.#toolbox
    if (known?.of !== settings || known.tenantTools !== tenantTools || known.bounds !== bounds) {
      const origin = { source: this.#options.meta().source, services: this.#serviceNames(), ...(bounds && { bounds }) }
      this.#toolbox = { of: settings, tenantTools, bounds, selected: sessionTools(settings, origin, tenantTools) }
      return this.#toolbox.selected
    }
    return known.selected
  }
}

/** The last one made: sessions of one tenant and day have the same. */
let lastPrompt: { readonly key: string; readonly text: string } | undefined

function promptFor(parts: SystemPromptParts): string {
  const key = JSON.stringify(parts)
  if (lastPrompt?.key !== key) lastPrompt = { key, text: renderSystemPrompt(parts) }
  return lastPrompt.text
}

/** A zone may be written in thousands of ways, in small letters and large ones. */
const formats = new BoundedMap<string, Intl.DateTimeFormat>(100)

/** YYYY-MM-DD. Making a format costs more than a hundred uses of it. */
function dateIn(timeZone: string, at: number): string {
  let format = formats.get(timeZone)
  if (!format) formats.set(timeZone, (format = new Intl.DateTimeFormat('en-CA', { timeZone })))
  return format.format(at)
}
