/** Runs the tool calls of one session in batches, and limits and stores their results. */

import { log } from '#agent/core/log.ts'
import { type Authority, historyReach } from '#agent/core/permission/authority.ts'
import type { Message, ToolMessage } from '#agent/core/message.ts'
import { redactJson } from '#agent/core/secrets/redaction.ts'
import type { Settings } from '#agent/core/settings.ts'
import type { Result, ToolCall } from '#agent/core/turn.ts'
import { createReachableHistory } from '#db/history.ts'
import { type CallProgress, type DispatchOptions, dispatch, concurrentCalls } from '#tools/dispatch.ts'
import { cutMiddle, maxLimits, openBatch, type ResultLimits, spillText } from '#tools/limit-result.ts'
import { checkPermission, type PermissionContext } from '#tools/check-permission.ts'
import { attachmentPrefix, storeResultImages, storeToolImages } from '#durable/workspace/attachments.ts'
import { failpoint } from '#durable/platform/failpoint.ts'
import { clock } from '#durable/platform/clock.ts'
import { newNonce } from '#durable/platform/ids.ts'
import { redactorFor } from '#durable/platform/redaction.ts'
import { FolderHints } from './folder-hints.ts'
import { type ProgramLog, withPrograms } from './programs.ts'
import type { SessionServices, ToolRuntimeOptions } from './session-services.ts'
import type { SessionToolbox } from './session-toolbox.ts'
import { type ExposureLog, openExposureLog, type ReadingRun } from './tools/exposure-log.ts'
import { addFixHints } from './tools/fix-hints.ts'
import { listTouchedPaths } from './tools/touched-paths.ts'
import type { ToolScope } from './tools/turn-scope.ts'

export type BatchRunOptions = Pick<PermissionContext, 'policy' | 'judge'> & {
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

export class ToolBatches {
  readonly #options: ToolRuntimeOptions
  readonly #services: SessionServices
  readonly #toolbox: SessionToolbox
  readonly #hints: FolderHints

  constructor(options: ToolRuntimeOptions, services: SessionServices, toolbox: SessionToolbox) {
    this.#options = options
    this.#services = services
    this.#toolbox = toolbox
    const { env, tenantId, meta, updateMeta } = options
    const redact = (text: string) => redactorFor(env, tenantId).redact(text)
    this.#hints = new FolderHints({ backend: services.backend, meta, updateMeta, redact })
  }

  /** Returns the first of these calls that may run concurrently. */
  together(calls: readonly ToolCall[], settings: Settings, scope: ToolScope): readonly ToolCall[] {
    return concurrentCalls(calls, { toolbox: this.#toolbox.tools(settings, scope), services: this.#services.all })
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
    }: BatchRunOptions,
  ): AsyncIterable<Result> {
    const { env, tenantId, sessionId } = this.#options
    const history = createReachableHistory(env.DB, { tenantId, sessionId }, historyReach(authority))
    const services = { ...this.#services.all, history }
    const exposure = this.exposure({ id: runId, authority, transcript })
    this.#services.begin(runId)
    this.#hints.begin(runId)
    const { backend, shell } = services
    const describeLocation = () => `${backend.kind} ${shell.read().cwd}`
    const permission = { services, describeLocation, now: clock.now, exposure: exposure.now, ...approvals }
    const dispatchOptions: DispatchOptions = {
      toolbox: this.#toolbox.tools(settings, scope),
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
      spill: (callId, text) => this.#services.spill(callId, text),
      failpoint: (moment) => failpoint(`${moment}-tool`),
      logError: (error, tool) => log.error('tool.failed', `The tool ${tool} failed.`, { error }),
    }
    const { runProgram } = this.#services
    const results = dispatch(calls, runProgram ? withPrograms(dispatchOptions, runProgram, programs) : dispatchOptions)
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
    const canRead = this.#toolbox.tools(settings.now(), scope).has('read_file')
    const logError = (error: unknown) => log.error('results.unstored', 'A long result cannot be stored.', { error })
    const spill = (callId: string, text: string) => this.#services.spill(callId, text)
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
}
