// Defines the limits of workspaces, tenants and the server, and reads them from variables with the prefix SANDBOX_.

import { totalmem } from 'node:os'

const MiB = 1024 * 1024

export const defaults = {
  /** Bytes of all files of a workspace. */
  DISK_BYTES: 2048 * MiB,
  /** Bytes of one file, written by a command or through the files API. */
  FILE_BYTES: 512 * MiB,
  /** Memory of everything that runs in a workspace. */
  MEMORY_BYTES: 1024 * MiB,
  /** Processes and threads of a workspace. */
  PROCESSES: 256,
  /** Percent of one processor. */
  CPU_PERCENT: 100,
  /** Maximum timeout of a command. */
  EXEC_MS: 3_600_000,
  /** Maximum timeout of a job. */
  JOB_MS: 86_400_000,
  /** Interval in which the disk of a workspace is measured while a command or a job runs there. */
  MEASURE_MS: 3_000,
  /** Timeout of a search. */
  SEARCH_MS: 20_000,
  /** Maximum output of each stream of a command; more is truncated. */
  OUTPUT_BYTES: 8 * MiB,
  /** Maximum output of a job; more is dropped. */
  JOB_OUTPUT_BYTES: 64 * MiB,
  /** Concurrent commands and searches of one workspace. */
  EXECS: 8,
  /** Concurrent jobs of one workspace. */
  JOBS: 16,
  /** Concurrent commands and searches of all workspaces of a tenant, and of all tenants. */
  TENANT_EXECS: 32,
  ALL_EXECS: 64,
  /** Commands of a tenant that may wait for a slot, and for how long. */
  QUEUE: 64,
  QUEUE_MS: 10_000,
  /** Concurrent jobs of a tenant, and of all tenants. */
  TENANT_JOBS: 64,
  ALL_JOBS: 256,
  /** Memory of all workspaces of a tenant, and of all tenants. */
  TENANT_MEMORY_BYTES: Math.floor(totalmem() / 2),
  ALL_MEMORY_BYTES: Math.floor(totalmem() * 0.8),
  /** Maximum size of a JSON request. */
  BODY_BYTES: 8 * MiB,
}

/** A measured size is used again for less than the interval, so that each measurement is a new one. */
export const maxMeasureAge = ({ MEASURE_MS }) => Math.floor((MEASURE_MS * 5) / 6)

/** Values for requests without them. */
export const requestDefaults = { execMs: 60_000, jobMs: 3_600_000, outputBytes: 256 * 1024 }

export function readLimits(environment) {
  const limits = { ...defaults }
  for (const name of Object.keys(defaults)) {
    const given = environment[`SANDBOX_${name}`]
    if (given === undefined || given === '') continue
    const value = Number(given)
    if (!Number.isSafeInteger(value) || value < 1) throw new Error(`SANDBOX_${name} must be a whole number above 0`)
    limits[name] = value
  }
  return limits
}
