/** Adds granted secrets to the environment of commands. What a command returns for the next one is stripped of them. */

import type { ExecOptions, ExecResult, ExecutionBackend } from '#agent/core/backend.ts'
import type { Settings } from '#agent/core/settings.ts'
import type { OpenedSecrets } from '#durable/platform/tenant-secrets.ts'

/** The secrets that commands of a session get. */
export type CommandSecrets = {
  readonly env: Readonly<Record<string, string>>
  /** Whether a text contains a secret in any form that the redactor masks. */
  readonly isIn: (text: string) => boolean
}

/** Returns the secrets that the settings grant by name. */
export const grantedSecrets = ({ terminal }: Settings, secrets: OpenedSecrets): CommandSecrets['env'] =>
  Object.fromEntries(
    (terminal?.secrets ?? []).flatMap((name) => {
      const value = secrets.get(name)
      return value === undefined ? [] : [[name, value]]
    }),
  )

export const withSecrets = <Options extends Pick<ExecOptions, 'env'>>(
  options: Options,
  { env }: CommandSecrets,
): Options => (Object.keys(env).length ? { ...options, env: { ...options.env, ...env } } : options)

/** Runs a command with the secrets. The variables and the directory for the next command are returned without them. */
export async function execWithSecrets(
  backend: Pick<ExecutionBackend, 'exec'>,
  command: string,
  options: ExecOptions,
  secrets: CommandSecrets,
): Promise<ExecResult> {
  const { env, isIn } = secrets
  const result = await backend.exec(command, withSecrets(options, secrets))
  if (!Object.keys(env).length) return result
  const kept = Object.entries(result.env).filter(([name, value]) => !(name in env) && !isIn(value))
  const cwd = isIn(result.cwd) ? (options.cwd ?? result.cwd) : result.cwd
  return { ...result, env: Object.fromEntries(kept), cwd }
}

/** Lists the variables for the model. */
export function describeSecrets({ env }: CommandSecrets): string {
  const names = Object.keys(env)
  return names.length ? ` Secrets in the environment of commands, masked in output: ${names.join(', ')}.` : ''
}
