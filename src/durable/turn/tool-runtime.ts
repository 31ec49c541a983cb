/** Provides the tools of one session and what they use: its backend, processes, todos, documents and history. */

import { log } from '#agent/core/log.ts'
import { type Authority, historyReach } from '#agent/core/permission/authority.ts'
import type { Skills } from '#agent/core/skills/skill.ts'
import type { Services, ServiceName, Tool, Toolbox } from '#agent/core/tool.ts'
import { hash53 } from '#agent/core/hash53.ts'
import type { Message, ToolMessage } from '#agent/core/message.ts'
import { redactJson } from '#agent/core/secrets/redaction.ts'
import type { Subagents } from '#agent/core/subagent.ts'
import type { ToolSchema } from '#agent/core/request/tool-schema.ts'
import type { Limits, Settings } from '#agent/core/settings.ts'
import type { Result, ToolCall } from '#agent/core/turn.ts'
import type { ToolDeployment } from '#agent/core/vendor/tool-deployment.ts'
import { createReachableHistory } from '#db/history.ts'
import { loadShellPolicy } from '#backends/modules.ts'
import { openDocuments } from '#backends/pdf/pdf.ts'
import { openPrograms, type RunProgram } from '#backends/isolate/programs.ts'
import { type CallProgress, type DispatchOptions, dispatch, concurrentCalls } from '#tools/dispatch.ts'
import { tools as builtInTools } from '#tools/index.ts'
import { listUnavailable } from '#tools/tools-for.ts'
import { cutMiddle, maxLimits, openBatch, type ResultLimits, spillText } from '#tools/limit-result.ts'
import { checkPermission, type PermissionContext } from '#tools/check-permission.ts'
import { attachmentPrefix, storeResultImages, storeToolImages } from '#durable/workspace/attachments.ts'
import { noCapabilities, openBackend, resolveBackendKind } from '#durable/workspace/open-backend.ts'
import { grantedSecrets } from '#durable/workspace/command-secrets.ts'
import { openCheckpointArchive } from '#durable/workspace/checkpoint-archive.ts'
import { failpoint } from '#durable/platform/failpoint.ts'
import { FolderHints } from './folder-hints.ts'
import { type ProgramLog, withPrograms } from './programs.ts'
import { createSessionJobs } from './tools/session-jobs.ts'
import { createSessionSkills } from './tools/session-skills.ts'
import { listTouchedPaths } from './tools/touched-paths.ts'
import { type ExposureLog, openExposureLog, type ReadingRun } from './tools/exposure-log.ts'
import { createSessionWeb } from './tools/session-web.ts'
import { addFixHints } from './tools/fix-hints.ts'
import { createSessionDocuments } from './tools/session-documents.ts'
import { createSessionMedia, type SessionMedia } from './tools/session-media.ts'
import { type BrowserSession, SessionBrowser } from './tools/browser/session-browser.ts'
import type { MediaSession } from './media/media-host.ts'
import { createSessionMemory } from './tools/session-memory.ts'
import { createSessionSubagents } from './tools/session-subagents.ts'
import { type SessionTools, turnTools } from './tools/session-tools.ts'
import type { ToolPorts } from './tools/tool-ports.ts'
import { isSameScope, type ToolScope } from './tools/turn-scope.ts'
import { SessionProcesses } from '#durable/processes/process-registry.ts'
import type { ProcessRows } from '#durable/processes/process-rows.ts'
import {
  hostMemory,
  type SessionBackend,
  sessionBackend,
  type SessionBackendOptions,
} from '#durable/workspace/session-backend.ts'
import type { SessionMetadata } from '#durable/storage/session-metadata.ts'
import { keySource, type TenantKeys } from '#durable/models/credentials.ts'
import { createToolDeployment } from '#durable/models/tool-deployment.ts'
import { createTenantFetch } from '#durable/tenant/tenant-fetch.ts'
import { clock } from '#durable/platform/clock.ts'
import type { GuardedFetch } from '#durable/platform/guarded-fetch.ts'
import { newNonce } from '#durable/platform/ids.ts'
import { redactorFor } from '#durable/platform/redaction.ts'
import type { OpenedSecrets } from '#durable/platform/tenant-secrets.ts'

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
  /** The keys of the tenant: another object after each change. */
  readonly keys: () => TenantKeys
  /** Of the tenant: the settings say which of them commands get. */
  readonly secrets: () => OpenedSecrets
  readonly updateMeta: (change: Partial<SessionMetadata>) => void
  /** Read at each use: they exist after this. */
  readonly subagents: () => Subagents
  readonly runInBackground: (work: Promise<unknown>) => void
  readonly processes: { readonly rows: ProcessRows; readonly step: () => number }
  readonly media: MediaSession
  readonly browser: BrowserSession
  /** Tools of MCP servers, plugins and skills: the same array as long as they are the same. Absent: there are none. */
  readonly tenantTools?: () => readonly Tool[]
}

export type RunOptions = Pick<PermissionContext, 'policy' | 'judge'> & {
  readonly settings: Settings
  /** That of the turn. */
  readonly authority: Authority
  readonly scope: ToolScope
  readonly signal: AbortSignal
  /** Stores the calls that programs make. */
  readonly programs: ProgramLog
  /** The results that their batch has already. */
  readonly earlierResults: readonly ToolMessage[]
  readonly resultLimits: ResultLimits
  /** The run that makes the calls. */
  readonly runId: string
  /** The messages that the model has read. */
  readonly transcript: readonly Message[]
  /** Publishes what running calls print. */
  readonly onProgress: (progress: CallProgress) => void
  /** Whether the model of the turn reads images. */
  readonly seesImages: boolean
}

export class ToolRuntime {
  readonly #options: ToolRuntimeOptions
  readonly #services: Omit<Services, 'programs'>
  /** For services of tools that call vendors. */
  readonly #ports: ToolPorts
  /** Absent without the LOADER binding. */
  readonly #runProgram: RunProgram | undefined
  readonly backend: SessionBackend
  readonly processes: SessionProcesses
  readonly skills: Skills
  readonly paidMedia: SessionMedia
  readonly browser: SessionBrowser
  readonly #hints: FolderHints
  /** The run that made the last calls. */
  #runId = ''
  #toolbox:
    | {
        readonly of: Settings
        readonly keys: TenantKeys
        readonly tenantTools: readonly Tool[] | undefined
        readonly scope: ToolScope
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
    this.#hints = new FolderHints({
      backend: this.backend,
      meta,
      updateMeta,
      redact: (text) => redactorFor(env, tenantId).redact(text),
    })
    this.#runProgram = env.LOADER && openPrograms({ loader: env.LOADER, tenantId })
    this.skills = createSessionSkills({
      env,
      tenantId,
      sessionId,
      files: () => this.backend.files,
      resolve: (path) => this.backend.resolve(path),
      variables: () => Object.keys(grantedSecrets(now(), options.secrets())),
      toolNames: () => this.#toolbox?.selected.tools ?? new Map(),
    })
    this.#ports = this.#createPorts(guardedFetch)
    this.paidMedia = createSessionMedia(this.#ports, sql, options.media)
    this.browser = new SessionBrowser(this.#ports, sql, options.browser)
    this.#services = this.#createServices()
  }

  #createPorts(guardedFetch: GuardedFetch): ToolPorts {
    const { env, tenantId, sessionId, runInBackground } = this.#options
    return {
      env,
      tenantId,
      sessionId,
      deployment: () => this.deployment(),
      guardedFetch,
      backend: this.backend,
      runId: () => this.#runId,
      runInBackground,
    }
  }

  #createServices(): Omit<Services, 'programs'> {
    const { env, tenantId, sessionId, meta, updateMeta, subagents } = this.#options
    const documents = openDocuments({ loader: env.LOADER })
    return {
      backend: this.backend,
      documents,
      documentWriter: createSessionDocuments(this.#ports),
      // Replaced by what the authority of each call reaches.
      history: createReachableHistory(env.DB, { tenantId, sessionId }, { kind: 'session' }),
      todos: { read: () => meta().todos, write: (todos) => updateMeta({ todos }) },
      shell: {
        read: () => meta().shell ?? { cwd: this.backend.capabilities.root, env: {} },
        write: (shell) => {
          if (JSON.stringify(shell) !== JSON.stringify(meta().shell)) updateMeta({ shell })
        },
        policy: loadShellPolicy,
      },
      processes: this.processes,
      jobs: createSessionJobs({ env, tenantId, sessionId, chat: () => meta().origin }),
      skills: this.skills,
      memory: createSessionMemory({
        env,
        tenantId,
        runId: () => this.#runId,
        isGroup: () => meta().origin?.isGroup === true,
      }),
      subagents: createSessionSubagents(subagents),
      media: this.paidMedia.media,
      vision: this.paidMedia.vision,
      browser: this.browser,
      person: true,
      web: createSessionWeb(this.#ports, documents, (url, signal) => this.browser.read(url, signal)),
    }
  }

  /** The tools that these settings and the authority of the turn allow, and that have what they need. */
  toolbox(settings: Settings, scope: ToolScope): Toolbox {
    return this.#sessionTools(settings, scope).tools
  }

  /** Also loads the policy for commands, while the model thinks. */
  schemas(settings: Settings, scope: ToolScope): readonly ToolSchema[] {
    const { schemas, tools } = this.#sessionTools(settings, scope)
    const loading = tools.has('terminal') && loadShellPolicy()
    if (loading instanceof Promise) this.#options.runInBackground(loading)
    return schemas
  }

  /** Returns the first of these calls that may run concurrently. */
  together(calls: readonly ToolCall[], settings: Settings, scope: ToolScope): readonly ToolCall[] {
    return concurrentCalls(calls, { toolbox: this.toolbox(settings, scope), services: this.#services })
  }

  exposure(run: ReadingRun): ExposureLog {
    return openExposureLog(this.#options, run)
  }

  run(
    calls: readonly ToolCall[],
    {
      settings,
      authority,
      scope,
      signal,
      runId,
      transcript,
      programs,
      seesImages,
      earlierResults,
      resultLimits,
      onProgress,
      ...approvals
    }: RunOptions,
  ): AsyncIterable<Result> {
    const { env, tenantId, sessionId } = this.#options
    const history = createReachableHistory(env.DB, { tenantId, sessionId }, historyReach(authority))
    const services = { ...this.#services, history }
    const exposure = this.exposure({ id: runId, authority, transcript })
    this.backend.begin(runId)
    this.#runId = runId
    this.#hints.begin(runId)
    const { backend, shell } = services
    const describeLocation = () => `${backend.kind} ${shell.read().cwd}`
    const permission = { services, describeLocation, now: clock.now, exposure: exposure.now, ...approvals }
    const dispatchOptions: DispatchOptions = {
      toolbox: this.toolbox(settings, scope),
      services,
      permit: (call, tool) => checkPermission(call, tool, permission),
      noteResult: exposure.note,
      context: { sessionId, authority: exposure.authority, signal, clock, seesImages },
      schedule: clock.schedule,
      progress: { emit: onProgress, openRedaction: () => redactorFor(env, tenantId).stream() },
      earlierResults,
      resultLimits,
      newNonce,
      redactor: () => redactorFor(env, tenantId),
      spill: (callId, text) => this.spill(callId, text),
      failpoint: (moment) => failpoint(`${moment}-tool`),
      logError: (error, tool) => log.error('tool.failed', `The tool ${tool} failed.`, { error }),
    }
    const results = dispatch(
      calls,
      this.#runProgram ? withPrograms(dispatchOptions, this.#runProgram, programs) : dispatchOptions,
    )
    const hinted = this.#hints.addTo(results, (id) => listTouchedPaths(calls, id, dispatchOptions))
    const isFixKnown = settings.learning?.fixes !== false && historyReach(authority).kind === 'tenant'
    const helped = addFixHints(hinted, calls, { env, authority, isEnabled: isFixKnown })
    return storeResultImages(helped, env.BLOBS, attachmentPrefix(tenantId, sessionId))
  }

  /** Redacts and bounds the results of tools that the client ran, and stores their images. */
  async receiveResults(
    messages: readonly ToolMessage[],
    scope: ToolScope,
    limits: ResultLimits = maxLimits,
  ): Promise<readonly ToolMessage[]> {
    const { env, tenantId, sessionId, settings } = this.#options
    const { redact } = redactorFor(env, tenantId)
    // Only a model that can read files gets a path.
    const canRead = this.toolbox(settings.now(), scope).has('read_file')
    const logError = (error: unknown) => log.error('results.unstored', 'A long result cannot be stored.', { error })
    const spill = (callId: string, text: string) => this.spill(callId, text)
    const shorten = (callId: string, text: string) =>
      canRead
        ? spillText(callId, text, { spill, logError }, limits)
        : cutMiddle(text, Math.min(limits.perResult, limits.perBatch / messages.length))
    const batch = openBatch({ limits, shorten })
    for (const message of messages) {
      const content = message.content.map((part) =>
        part.type === 'text' ? { ...part, text: redactJson(part.text, redact) } : part,
      )
      await batch.add({ ...message, content })
    }
    const prefix = attachmentPrefix(tenantId, sessionId)
    return Promise.all(batch.messages().map((message) => storeToolImages(message, env.BLOBS, prefix)))
  }

  /** Deletes the files and attachments of the session outside its own rows. */
  async removeFiles(): Promise<void> {
    const { env, tenantId, sessionId } = this.#options
    await this.backend.destroy()
    await this.paidMedia.removeFiles()
    for (;;) {
      const found = await env.BLOBS?.list({ prefix: `t/${tenantId}/s/${sessionId}/` })
      if (!found?.objects.length) return
      await env.BLOBS?.delete(found.objects.map(({ key }) => key))
    }
  }

  /** Stores a long result as a file. Models reuse call ids, so the name contains a hash of the text. */
  async spill(callId: string, text: string): Promise<string> {
    const path = `/tmp/results/${callId.replace(/[^\w-]/g, '_').slice(0, 64)}-${hash53(text).toString(36)}.txt`
    await this.backend.files.write(path, new TextEncoder().encode(text))
    return path
  }

  #serviceNames(settings: Settings, { withoutMemory }: ToolScope): readonly ServiceName[] {
    const hasMemory = !withoutMemory && settings.memory?.enabled !== false
    const names = (Object.keys(this.#services) as ServiceName[]).filter((name) => hasMemory || name !== 'memory')
    return this.#runProgram ? [...names, 'programs'] : names
  }

  /** The means that deployment and tenant bring for tools now. */
  deployment(settings = this.#options.settings.now()): ToolDeployment {
    const { env, tenantId, keys } = this.#options
    return createToolDeployment(env, { id: tenantId, settings, tenantKeys: keySource(keys(), {}) })
  }

  #sessionTools(settings: Settings, scope: ToolScope): SessionTools {
    const tenantTools = this.#options.tenantTools?.()
    const known = this.#toolbox
    const keys = this.#options.keys()
    if (
      known?.of === settings &&
      known.keys === keys &&
      known.tenantTools === tenantTools &&
      isSameScope(known.scope, scope)
    )
      return known.selected
    const { source } = this.#options.meta()
    const facts = { subagents: this.#options.subagents().limits() }
    const unavailable = listUnavailable(builtInTools, this.deployment(settings))
    const selected = turnTools(
      settings,
      { source, services: this.#serviceNames(settings, scope), scope, facts, unavailable },
      tenantTools,
    )
    this.#toolbox = { of: settings, keys, tenantTools, scope, selected }
    return selected
  }
}
