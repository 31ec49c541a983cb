import type { ChannelConnection, InboundRequest } from '#channels/channel.ts'

/** Proves a request of a platform whose bodies repeat the secret `token`. Undefined: the body is no JSON object. */
export async function proveByToken(
  request: InboundRequest,
  { secrets }: ChannelConnection,
): Promise<InboundRequest | undefined> {
  const text = new TextDecoder().decode(request.body)
  if (!/^\{".*\}$/s.test(text)) return undefined
  const body = text.replace('{', `{"token":${JSON.stringify(secrets['token'] ?? '')},`)
  return { ...request, body: new TextEncoder().encode(body) }
}
