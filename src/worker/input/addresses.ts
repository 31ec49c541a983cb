/** Validates the addresses of custom providers before settings are stored: only public ones are accepted. */

import type { Settings } from '#agent/core/settings.ts'
import { checkPublicAddress } from '#agent/policy/network/network-address.ts'
import { AppError } from '../errors.ts'

export function validateAddresses({ providers }: Settings): void {
  for (const [name, provider] of Object.entries(providers ?? {})) {
    const reason = provider?.base_url === undefined ? undefined : explainRefusal(provider.base_url)
    if (reason)
      throw new AppError(400, 'blocked_url', `This address cannot be used: ${reason}.`, {
        param: `providers.${name}.base_url`,
      })
  }
}

/** Plain braces look like a template variable, which is never filled in. Real addresses encode them. */
const explainRefusal = (address: string): string | undefined =>
  /[{}]/.test(address) ? 'it contains braces' : checkPublicAddress(address, { ports: 'service' })
