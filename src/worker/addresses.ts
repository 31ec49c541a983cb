/** Addresses in settings are checked where they are stored: what is not public is refused by name. */

import type { Settings } from '../agent/model/settings.ts'
import { checkPublicAddress } from '../agent/policy/network-address.ts'
import { AppError } from './errors.ts'

export function checkAddresses({ providers }: Settings): void {
  for (const [name, provider] of Object.entries(providers ?? {})) {
    const reason = provider?.base_url === undefined ? undefined : refusedBase(provider.base_url)
    if (reason)
      throw new AppError(400, 'blocked_url', `This address cannot be used: ${reason}.`, {
        param: `providers.${name}.base_url`,
      })
  }
}

/** In an address braces are encoded; plain ones look like a variable to be filled in, which never happens. */
const refusedBase = (address: string): string | undefined =>
  /[{}]/.test(address) ? 'it contains braces' : checkPublicAddress(address)
