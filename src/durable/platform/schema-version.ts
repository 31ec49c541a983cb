/**
 * Numbers what objects store, so that code which is too old leaves it alone. A release reads what the release before it
 * wrote, and writes what that one can read (docs/design/deployment.md#what-objects-store).
 */

import { clock } from './clock.ts'

/** `readableFrom`: the lowest version of code that can read what this version writes. */
export type SchemaVersion = { readonly version: number; readonly readableFrom: number }

/** Objects without a version were written by version 1. */
export const schemaVersion: SchemaVersion = { version: 2, readableFrom: 1 }

/** The pause before an object that cannot be read is opened again: its alarm may be a turn or a job. */
const reopenMs = 300_000

const newerSchemaMessage = 'The object was written by newer code.'

/**
 * Ends an object that newer code has written and this code cannot read. Its alarm stays set, so that its work goes on
 * after the next deployment. Returns whether it is ended.
 */
export function refuseNewerSchema(ctx: DurableObjectState, stored: SchemaVersion | undefined): boolean {
  if ((stored?.readableFrom ?? 1) <= schemaVersion.version) return false
  const end = async () => {
    await ctx.storage.setAlarm(clock.now() + reopenMs)
    await ctx.storage.sync()
    throw new Error(newerSchemaMessage)
  }
  ctx.blockConcurrencyWhile(end).catch(() => undefined)
  return true
}
