/** Describes the backups of each night for health. */

import { clock } from '#durable/platform/clock.ts'
import { type NightStatus, nightAt, readBackupSettings, readNightStatus } from './nightly.ts'

/** A night that is not complete by then has failed. */
const dueMs = 12 * 3_600_000

export async function describeNights(env: Env): Promise<string> {
  const settings = readBackupSettings(env)
  if (settings === undefined) return 'off: BACKUP_PASSPHRASE is not set'
  if (typeof settings === 'string') return `failing: ${settings}`
  const status = await readNightStatus(settings)
  if (!status) return 'failing: none was made yet. The cron trigger of wrangler.toml begins one within ten minutes.'
  return describeStatus(status, { now: clock.now(), hour: settings.hour })
}

function describeStatus(status: NightStatus, at: { readonly now: number; readonly hour: number }): string {
  const { last, failed, night, done } = status
  const complete = last ? `last complete night ${last.night}, ${last.tenants} tenants` : 'no night is complete yet'
  const [first] = Object.entries(failed)
  if (first) return `failing: ${Object.keys(failed).length} tenants, first ${first[0]}: ${first[1]}; ${complete}`
  const current = nightAt(at.now, at.hour)
  if (last?.night === current) return complete
  const begun = Date.parse(current) + at.hour * 3_600_000
  // A first night that is begun late in the day has its time too.
  const isLate = at.now - begun > dueMs && (last !== undefined || night !== current)
  return `${isLate ? 'failing: the night is not complete' : 'running'}: ${night === current ? done : 0} tenants of ${current}; ${complete}`
}
