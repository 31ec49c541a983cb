/** Converts errors of container APIs to values, because errors lose their fields between objects. */

import type { SandboxFailure, SandboxResult } from './sandbox-port.ts'
import { timeoutCode } from './within.ts'

export async function toResult<T>(work: () => Promise<T>): Promise<SandboxResult<T>> {
  try {
    return { ok: await work() }
  } catch (error) {
    return { trouble: toFailure(error) }
  }
}

type ContainerError = {
  readonly code?: string
  readonly context?: Partial<Pick<SandboxFailure, 'retryable' | 'retryAfterMs'>> & {
    readonly admitted?: boolean | 'unknown'
    readonly reason?: string
    readonly phase?: string
    readonly containerExitCode?: number
    readonly error?: string
  }
}
type AnyError = { readonly message?: string; readonly errorResponse?: ContainerError; readonly retryable?: boolean }

/** Starts that the SDK calls permanent, because of the image or the configuration. */
const permanentStart = 'due to a permanent error'

export function toFailure(error: unknown): SandboxFailure {
  const { message = String(error), errorResponse, retryable: own } = error as AnyError
  const { code = 'UNKNOWN', context = {} } = errorResponse ?? {}
  const { reason, phase, retryable = own, retryAfterMs, error: cause } = context
  const details = [reason, cause].filter((text) => text !== undefined && !message.includes(text))
  const text = details.length ? `${message} (${details.join(': ')})` : message
  // A command that fails while the container starts has not run.
  if (phase === 'startup')
    return {
      code: 'CONTAINER_UNAVAILABLE',
      message: text,
      admitted: false,
      retryable: !message.includes(permanentStart),
      retryAfterMs,
    }
  const admitted = context.admitted === 'unknown' ? undefined : context.admitted
  const hasEnded = context.containerExitCode !== undefined
  return { code, message: text, admitted, retryable, retryAfterMs, hasEnded }
}

export const createFailure = (code: string, message: string, context: ContainerError['context'] = {}): Error =>
  Object.assign(new Error(message), { errorResponse: { code, context: { admitted: true, ...context } } })

/** There are no containers here: waiting does not help. */
export const hasNoContainers = ({ message }: SandboxFailure): boolean =>
  /not (been )?enabled for this Durable Object|does not have a container/i.test(message)

/** All containers are in use. */
export const isAtCapacity = ({ message }: SandboxFailure): boolean =>
  /max_container_instances_exceeded|no_container_instance_available|no container instance/i.test(message)

export const pausedReason = 'paused'
/** The platform has paused the container, which answers again later. */
export const isPaused = ({ code, message }: SandboxFailure): boolean =>
  code === 'CONTAINER_UNAVAILABLE' && message.includes(pausedReason)

/** Another attempt would fail as well. */
export const isPermanent = (failure: SandboxFailure): boolean =>
  hasNoContainers(failure) || (failure.retryable === false && failure.message.includes(permanentStart))

/** Nothing answered in time, not even with an error. */
export const isSilent = ({ code }: SandboxFailure): boolean => code === timeoutCode

/** The message with which an object ends whose container fails to start again and again. Then nothing runs in it. */
export const resetMessage = 'The container failed to start.'
