/** The parts from which services of tools are built: the deployment, the guarded fetch of the tenant and the files of the session. */

import type { ExecutionBackend } from '#agent/core/backend.ts'
import type { ToolDeployment } from '#agent/core/vendor/tool-deployment.ts'
import type { FileMarks } from '#durable/workspace/file-marks.ts'
import type { GuardedFetch } from '#durable/platform/guarded-fetch.ts'

export type ToolPorts = {
  readonly env: Env
  /** Use it in place of that of `env`: it queues the isolates of the object. */
  readonly loader: WorkerLoader | undefined
  readonly tenantId: string
  readonly sessionId: string
  /** Read at each use: keys and settings change. */
  readonly deployment: () => ToolDeployment
  /** The only way out for tools. Set `isTrusted` for addresses below `VendorAccess.baseUrl`, and for no others. */
  readonly guardedFetch: GuardedFetch
  readonly backend: ExecutionBackend
  readonly fileMarks: FileMarks
  /** The run that makes the calls. */
  readonly runId: () => string
  readonly runInBackground: (work: Promise<unknown>) => void
}
