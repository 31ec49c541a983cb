/**
 * Chooses how the messages of a new channel arrive. A server that the platform cannot call asks for them; one with a public
 * address is called, which costs nothing while nobody writes.
 */

import { checkPublicAddress } from '#agent/policy/network/network-address.ts'
import type { ChannelSettings } from '#channels/settings.ts'

type EventDelivery = ChannelSettings['delivery']

export type DeliveryFacts = {
  /** The setting of the request. Undefined: the server chooses. */
  readonly asked: EventDelivery | undefined
  readonly platform: string
  /** The ways besides the webhook that the platform has. */
  readonly ways: readonly EventDelivery[]
  /** The deployment has the object that asks. */
  readonly hasReceiver: boolean
  readonly webhookUrl: string
  /** The API of the platform. One on a private address can call a private webhook. */
  readonly apiBase: string
  /** The request has the secret that a socket needs. */
  readonly hasSocketSecret: boolean
}

const isPublic = (address: string): boolean => checkPublicAddress(address) === undefined

export function chooseDelivery(facts: DeliveryFacts): EventDelivery | { readonly refusal: string } {
  const { asked, platform, ways, hasReceiver, webhookUrl } = facts
  const isReachable = isPublic(webhookUrl)
  if (asked === undefined) return isReachable ? 'webhook' : chooseFor(facts)
  if (asked === 'webhook') return asked
  if (!ways.includes(asked)) return { refusal: `${platform} has no ${asked}: leave settings.delivery out.` }
  if (isReachable)
    return {
      refusal: `${platform} can call the public address of this server, at no cost: leave settings.delivery out.`,
    }
  return hasReceiver ? asked : { refusal: 'This deployment has no binding CONNECTION, which receives messages.' }
}

/** A platform on a private address can call a private webhook. A socket needs a secret that only some requests have. */
function chooseFor({ ways, hasReceiver, apiBase, hasSocketSecret }: DeliveryFacts): EventDelivery {
  if (!hasReceiver || !isPublic(apiBase)) return 'webhook'
  return ways.find((way) => way === 'polling' || (way === 'socket' && hasSocketSecret)) ?? 'webhook'
}
