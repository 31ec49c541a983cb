/**
 * Opens the secrets of a tenant and adds the granted ones to the environment of commands. Values are only in memory: what
 * a command returns for the next one is stripped of them.
 */

import { log } from '../../agent/model/log.ts'
import type { ExecOptions, ExecResult, ExecutionBackend } from '../../agent/model/backend.ts'
import { BoundedMap } from '../../agent/model/bounded-map.ts'
import type { Settings } from '../../agent/model/settings.ts'
import { rememberSecrets } from '../platform/redaction.ts'
import { type SecretOwner, unseal } from '../platform/seal.ts'

export type TenantSecret = {
  readonly name: string
  readonly lastFour: string
  readonly createdAt: number
  readonly sealed: string
}

/** Oldest first. The revision grows with every change, so that a late snapshot is recognised. */
export type StoredSecrets = { readonly revision: number; readonly list: readonly TenantSecret[] }

/** The secrets as a snapshot carries them. */
export type SealedSecrets = {
  readonly revision: number
  readonly list: readonly Pick<TenantSecret, 'name' | 'sealed'>[]
}

/** Values by name. */
export type OpenedSecrets = ReadonlyMap<string, string>

export const noSecrets: OpenedSecrets = new Map()

export const secretOwner = (tenant: string, name: string): SecretOwner => ({ tenant, kind: 'secret', id: name })

/** `masked`: also values that were replaced or deleted, because running commands may still print them. */
type Opened = { readonly revision: number; readonly secrets: OpenedSecrets; readonly masked: readonly string[] }

const maxMasked = 200
const openedSecrets = new BoundedMap<string, Opened>(5_000)

type SealedTenant = { readonly id: string; readonly secrets?: SealedSecrets | undefined }

/** Opens the secrets of a snapshot, once for each revision in an isolate. One that cannot be opened is left out. */
export async function openSecrets(env: Env, { id, secrets: sealed }: SealedTenant): Promise<OpenedSecrets> {
  if (!sealed) return noSecrets
  const cached = openedSecrets.get(id)
  if (cached && cached.revision >= sealed.revision) return cached.secrets
  const results = await Promise.all(sealed.list.map((one) => unseal(env, one.sealed, secretOwner(id, one.name))))
  const secrets = new Map<string, string>()
  for (const [at, { name }] of sealed.list.entries()) {
    const result = results[at]
    if (result?.kind === 'opened') secrets.set(name, result.secret)
    else log.warn('secret.unusable', `The secret ${name} cannot be used.`, { reason: result?.reason, tenant_id: id })
  }
  // A later revision may have been opened during the wait.
  const latest = openedSecrets.get(id)
  if (latest && latest.revision >= sealed.revision) return latest.secrets
  const masked = [...new Set([...secrets.values(), ...(latest?.masked ?? [])])].slice(0, maxMasked)
  rememberSecrets(id, 'secrets', masked)
  openedSecrets.set(id, { revision: sealed.revision, secrets, masked })
  return secrets
}

/** What commands of a session get. */
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

/** Tells the model which variables there are. */
export function describeSecrets({ env }: CommandSecrets): string {
  const names = Object.keys(env)
  return names.length ? ` Secrets in the environment of commands, masked in output: ${names.join(', ')}.` : ''
}
