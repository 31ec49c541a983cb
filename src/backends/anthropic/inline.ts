/** Exports the base client of the Anthropic SDK. It is bundled apart, because many deployments never call Anthropic. */

export { BaseAnthropic } from '@anthropic-ai/sdk/client'
