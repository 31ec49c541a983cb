/** Opens what the tools of one session use: its backend, processes, documents, history, media and browser. */

import { allMarks, type Marks } from '#agent/core/marks.ts'
import { historyDb } from '#db/shards/sharded-database.ts'
import type { Skills } from '#agent/core/skills/skill.ts'
import type { NamedCheckpoints, Services, ServiceName, SideModel, Tool, Toolbox } from '#agent/core/tool.ts'
import { hash53 } from '#agent/core/hash53.ts'
import type { Subagents } from '#agent/core/subagent.ts'
import type { Limits, Settings } from '#agent/core/settings.ts'
import type { ToolDeployment } from '#agent/core/vendor/tool-deployment.ts'
import { createReachableHistory } from '#db/history.ts'
import { loadShellPolicy } from '#backends/modules.ts'
import { openDocuments } from '#backends/pdf/pdf.ts'
import { openPrograms, type RunProgram } from '#backends/isolate/programs.ts'
import { noCapabilities, openBackend, resolveBackendKind } from '#durable/workspace/open-backend.ts'
import { grantedSecrets } from '#durable/workspace/command-secrets.ts'
import { openCheckpointArchive } from '#durable/workspace/checkpoint-archive.ts'
import type { DeferTools } from '#tools/search/defer-tools.ts'
import { createSessionJobs } from './tools/session-jobs.ts'
import { createSessionSkills } from './tools/session-skills.ts'
import { createSessionWeb } from './tools/session-web.ts'
import { createSessionDocuments } from './tools/session-documents.ts'
import { createSessionMedia, type SessionMedia } from './tools/session-media.ts'
import { type BrowserSession, SessionBrowser } from './tools/browser/session-browser.ts'
import type { MediaSession } from './media/media-host.ts'
import { createSessionMemory } from './tools/session-memory.ts'
import { createSessionSubagents } from './tools/session-subagents.ts'
import type { ToolPorts } from './tools/tool-ports.ts'
import type { ToolScope } from './tools/turn-scope.ts'
import { SessionProcesses } from '#durable/processes/process-registry.ts'
import type { ProcessRows } from '#durable/processes/process-rows.ts'
import {
  hostMemory,
  type SessionBackend,
  sessionBackend,
  type SessionBackendOptions,
} from '#durable/workspace/session-backend.ts'
import { type FileMarks, openFileMarks } from '#durable/workspace/file-marks.ts'
import { openKnownFiles } from '#durable/workspace/known-files.ts'
import { memoryProjectOf, type SessionMetadata } from '#durable/storage/session-metadata.ts'
import type { SideCall } from '#durable/models/side-call.ts'
import { keySource, type TenantKeys } from '#durable/models/credentials.ts'
import { createToolDeployment } from '#durable/models/tool-deployment.ts'
import type { PluginHooks } from '#durable/tenant/plugins/plugin-hooks.ts'
import { createTenantFetch } from '#durable/tenant/tenant-fetch.ts'
import { clock } from '#durable/platform/clock.ts'
import type { GuardedFetch } from '#durable/platform/guarded-fetch.ts'
import { redactorFor } from '#durable/platform/redaction.ts'
import type { OpenedSecrets } from '#durable/platform/tenant-secrets.ts'
import { sessionBlobPrefix } from '#durable/platform/addresses.ts'

export type ToolRuntimeOptions = {
  readonly env: Env
  /** Queues the isolates of the session's object. */
  readonly loader: WorkerLoader | undefined
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
  /** The text that the person has typed in the conversation. */
  readonly typed: () => string
  /** Read at each use: they exist after this. */
  readonly subagents: () => Subagents
  readonly checkpoints: NamedCheckpoints
  readonly runInBackground: (work: Promise<unknown>) => void
  readonly processes: { readonly rows: ProcessRows; readonly step: () => number }
  readonly media: MediaSession
  readonly browser: BrowserSession
  /** Tools of MCP servers, plugins and skills: the same array as long as they are the same. Absent: there are none. */
  readonly tenantTools?: () => readonly Tool[]
  /** Loaded with the tools of the tenant. */
  readonly deferTools?: () => DeferTools | undefined
  /** Of the plugins of the tenant. */
  readonly hooks?: () => PluginHooks | undefined
  /** Tokens of the context window of the session's model. */
  readonly window?: () => number | undefined
}

export class SessionServices {
  readonly #options: ToolRuntimeOptions
  /** For services of tools that call vendors. */
  readonly #ports: ToolPorts
  readonly #loader: WorkerLoader | undefined
  readonly all: Omit<Services, 'programs'>
  /** Absent without the LOADER binding. */
  readonly runProgram: RunProgram | undefined
  readonly backend: SessionBackend
  readonly processes: SessionProcesses
  readonly skills: Skills
  readonly paidMedia: SessionMedia
  readonly browser: SessionBrowser
  readonly fileMarks: FileMarks
  /** The run that made the last calls. */
  #runId = ''

  /** `toolNames`: the tools of the session as they were last chosen. */
  constructor(options: ToolRuntimeOptions, toolNames: () => Toolbox) {
    this.#options = options
    this.#loader = options.loader
    const { env, sql, tenantId, sessionId } = options
    const { now } = options.settings
    const guardedFetch = createTenantFetch(env, tenantId, options.runInBackground)
    this.fileMarks = openFileMarks(options)
    this.backend = this.#openBackend(guardedFetch)
    this.processes = new SessionProcesses({
      ...options.processes,
      jobs: () => this.backend.jobs,
      kind: () => this.backend.kind,
      jobsOn: this.backend.jobsOn,
      now: clock.now,
      redact: (text) => redactorFor(env, tenantId).redact(text),
    })
    this.runProgram = this.#loader && openPrograms({ loader: this.#loader, tenantId })
    this.skills = createSessionSkills({
      env,
      tenantId,
      sessionId,
      files: () => this.backend.files,
      fileMarks: this.fileMarks,
      resolve: (path) => this.backend.resolve(path),
      variables: () => Object.keys(grantedSecrets(now(), options.secrets())),
      toolNames,
    })
    this.#ports = this.#createPorts(guardedFetch)
    this.paidMedia = createSessionMedia(this.#ports, sql, options.media)
    this.browser = new SessionBrowser(this.#ports, sql, options.browser)
    this.all = this.#createServices()
  }

  #openBackend(guardedFetch: GuardedFetch): SessionBackend {
    const { env, sql, tenantId, sessionId, meta, updateMeta, settings, secrets } = this.#options
    const { now, limits } = settings
    const recordAccess: Pick<SessionBackendOptions, 'record' | 'write'> = {
      record: () => meta().machine,
      write: (machine) => updateMeta({ machine }),
    }
    const loader = this.#loader
    const context = { env, loader, sql, tenantId, sessionId, settings: now, limits, guardedFetch }
    return sessionBackend({
      ...recordAccess,
      open: (kind) => openBackend(kind, { ...context, memory: hostMemory(kind, recordAccess) }),
      requestedKind: () => resolveBackendKind(now(), env),
      waitForSettings: settings.load,
      noCapabilities: noCapabilities,
      secrets: () => ({
        env: grantedSecrets(now(), secrets()),
        isIn: (text) => redactorFor(env, tenantId).redactExact(text) !== text,
      }),
      processesOn: (kind) => this.processes.listOn(kind),
      known: (workspace) => openKnownFiles({ meta, updateMeta, workspace, now: clock.now }),
      archive:
        env.BLOBS &&
        openCheckpointArchive({
          sql,
          blobs: env.BLOBS,
          prefix: sessionBlobPrefix(tenantId, sessionId, 'checkpoints'),
          now: clock.now,
        }),
    })
  }

  #createPorts(guardedFetch: GuardedFetch): ToolPorts {
    const { env, tenantId, sessionId, runInBackground } = this.#options
    return {
      env,
      loader: this.#loader,
      tenantId,
      sessionId,
      deployment: () => this.deployment(),
      guardedFetch,
      backend: this.backend,
      runId: () => this.#runId,
      runInBackground,
      fileMarks: this.fileMarks,
    }
  }

  #createServices(): Omit<Services, 'programs'> {
    const { env, tenantId, sessionId, meta, updateMeta, subagents, checkpoints, media, typed } = this.#options
    const documents = openDocuments({ loader: this.#loader, owner: `${tenantId}/${sessionId}` })
    return {
      backend: this.backend,
      documents,
      documentWriter: createSessionDocuments(this.#ports),
      // Replaced by what the authority of each call reaches.
      history: createReachableHistory(
        { db: historyDb(env, tenantId), blobs: env.BLOBS },
        { tenantId, sessionId },
        { kind: 'session' },
      ),
      todos: { read: () => meta().todos, write: (todos) => updateMeta({ todos }) },
      shell: {
        read: () => meta().shell ?? { cwd: this.backend.capabilities.root, env: {} },
        write: (shell) => {
          if (JSON.stringify(shell) !== JSON.stringify(meta().shell)) updateMeta({ shell })
        },
        policy: loadShellPolicy,
        redact: (text) => redactorFor(env, tenantId).redact(text),
      },
      processes: this.processes,
      jobs: createSessionJobs({
        env,
        tenantId,
        sessionId,
        chat: () => meta().origin,
        project: () => meta().project?.id,
        typed,
      }),
      skills: this.skills,
      memory: createSessionMemory({
        env,
        tenantId,
        runId: () => this.#runId,
        isGroup: () => meta().origin?.isGroup === true,
        project: () => memoryProjectOf(meta()),
      }),
      learnings: {
        handle: async (...given) =>
          (await import('./tools/session-learnings.ts')).handleLearning(this.#options, ...given),
      },
      subagents: createSessionSubagents(subagents),
      checkpoints,
      media: this.paidMedia.media,
      vision: this.paidMedia.vision,
      browser: this.browser,
      model: { ask: (request) => askBeside(media.side(), request) },
      person: true,
      web: createSessionWeb(
        this.#ports,
        documents,
        (url, signal) => this.browser.read(url, signal),
        (request) => askBeside(media.side(), request),
      ),
    }
  }

  /** Notes the run that makes the next calls. */
  begin(runId: string): void {
    this.backend.begin(runId)
    this.#runId = runId
  }

  /** The names of what tools may need now. */
  names(settings: Settings, { withoutMemory }: ToolScope): readonly ServiceName[] {
    const hasMemory = !withoutMemory && settings.memory?.enabled !== false
    const left = new Set([...(hasMemory ? [] : ['memory']), ...(withoutMemory ? ['learnings'] : [])])
    const names = (Object.keys(this.all) as ServiceName[]).filter((name) => !left.has(name))
    return this.runProgram ? [...names, 'programs'] : names
  }

  /** The means that deployment and tenant bring for tools now. */
  deployment(settings = this.#options.settings.now()): ToolDeployment {
    const { env, tenantId, keys } = this.#options
    return createToolDeployment(env, { id: tenantId, settings, tenantKeys: keySource(keys(), {}) })
  }

  /** Deletes the files and attachments of the session outside its own rows. */
  async removeFiles(): Promise<void> {
    const { env, tenantId, sessionId } = this.#options
    await this.backend.destroy()
    await this.paidMedia.removeFiles()
    for (;;) {
      const found = await env.BLOBS?.list({ prefix: sessionBlobPrefix(tenantId, sessionId) })
      if (!found?.objects.length) return
      await env.BLOBS?.delete(found.objects.map(({ key }) => key))
    }
  }

  /** Stores a long result as a file. Models reuse call ids, so the name contains a hash of the text. */
  async spill(callId: string, text: string, marks: Marks = allMarks): Promise<string> {
    const path = `/tmp/results/${callId.replace(/[^\w-]/g, '_').slice(0, 64)}-${hash53(text).toString(36)}.txt`
    this.fileMarks.set(path, marks)
    await this.backend.files.write(path, new TextEncoder().encode(text))
    return path
  }
}

/** Its usage is part of the turn's. */
async function askBeside(side: SideCall, { system, prompt, maxTokens, task }: Parameters<SideModel['ask']>[0]) {
  const { usage, ...answer } = await side(task ?? 'plugin', {
    system,
    transcript: [{ role: 'user', content: [{ type: 'text', text: prompt }] }],
    ...(maxTokens !== undefined && { maxTokens }),
  })
  const costUsd = usage.costStatus === 'unknown' ? undefined : usage.costUsd
  return answer.kind === 'answered' ? { text: answer.text, costUsd } : { error: answer.failure.message, costUsd }
}
