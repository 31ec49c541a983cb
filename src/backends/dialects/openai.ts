/**
 * Exports the dialects that send through the OpenAI SDK, and its clients for other routes. The SDK is bundled without its
 * resources, which are unused (docs/patched-dependencies.md).
 */

import { OpenAI } from 'openai'
import { createOpenaiChat } from '#agent/providers/openai/chat.ts'
import { createClients } from '#agent/providers/openai/client.ts'
import { createOpenaiResponses } from '#agent/providers/openai/responses.ts'

export const getClient = createClients({ OpenAI, fetch: (url, init) => fetch(url, init) })
export const openaiChat = createOpenaiChat(getClient)
export const openaiResponses = createOpenaiResponses(getClient)
