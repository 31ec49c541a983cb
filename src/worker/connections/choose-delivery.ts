/**
 * Chooses how the messages of a new channel arrive. A server that the platform cannot call asks for them; one with a public
 * address is called, which costs nothing while nobody writes.
 */

import { checkPublicAddress } from '#agent/policy/network/network-address.ts'
import type { ChannelSettings } from '#channels/settings.ts'

type Delivery = ChannelSettings['delivery']

export type DeliveryFacts = {
  /** The setting of the request. Undefined: the server chooses. */
  readonly asked: Delivery | undefined
  readonly platform: string
  /** The platform has a call that asks for messages. */
  readonly canPoll: boolean
  /** The deployment has the object that asks. */
  readonly hasReceiver: boolean
  readonly webhookUrl: string
  /** The API of the platform. One on a private address can call a private webhook. */
  readonly apiBase: string
}

const isPublic = (address: string): boolean => checkPublicAddress(address) === undefined

export function chooseDelivery(facts: DeliveryFacts): Delivery | { readonly refusal: string } {
  const { asked, platform, canPoll, hasReceiver, webhookUrl, apiBase } = facts
  const isReachable = isPublic(webhookUrl)
  if (asked === undefined) return canPoll && hasReceiver && !isReachable && isPublic(apiBase) ? 'polling' : 'webhook'
  if (asked === 'webhook') return asked
  if (!canPoll) return { refusal: `${platform} cannot be asked for messages: leave settings.delivery out.` }
  if (isReachable)
    return {
      refusal: `${platform} can call the public address of this server, at no cost: leave settings.delivery out.`,
    }
  return hasReceiver ? asked : { refusal: 'This deployment has no binding CONNECTION, which asks for messages.' }
}
