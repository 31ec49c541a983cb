/** Lists all providers. The first one with a key and a default model decides the default model. */

import * as gateways from './gateways.ts'
import * as makers from './makers.ts'
import * as own from './deployment-specific.ts'
import * as subscriptions from './subscriptions.ts'
import { type Provider, defineProvider } from './define-provider.ts'

export type { Provider } from './define-provider.ts'

export const providers: readonly Provider[] = [
  makers.openai,
  makers.anthropic,
  gateways.openrouter,
  gateways.nous,
  makers.gemini,
  makers.geminiNative,
  makers.xai,
  makers.deepseek,
  makers.zai,
  makers.kimiCoding,
  makers.kimiCodingCn,
  makers.minimaxGlobal,
  makers.minimaxCn,
  makers.alibaba,
  makers.alibabaCodingPlan,
  gateways.nvidia,
  gateways.huggingface,
  gateways.fireworks,
  gateways.deepinfra,
  gateways.novita,
  gateways.gmi,
  gateways.tencentTokenhub,
  makers.upstage,
  makers.stepfun,
  makers.arcee,
  makers.xiaomi,
  makers.metaAi,
  gateways.kilocode,
  gateways.opencodeZen,
  gateways.opencodeGo,
  gateways.aiGateway,
  subscriptions.openaiCodex,
  subscriptions.copilot,
  subscriptions.xaiOauth,
  subscriptions.qwenOauth,
  own.azureFoundry,
  own.bedrock,
  own.vertex,
  own.ollamaCloud,
  own.lmstudio,
  own.custom,
  own.workersAi,
  own.demo,
]

const providersByName = new Map(providers.flatMap((one) => [one.id, ...(one.aliases ?? [])].map((name) => [name, one])))

export const getProvider = (name: string): Provider | undefined => providersByName.get(name)

/** Defines a tenant's provider `custom:<name>`. It has no key variables, so keys of the deployment are never sent there. */
export const defineCustomProvider = (id: string, baseUrl: string, headers: Provider['headers'] = {}): Provider =>
  defineProvider({ id, baseUrl, headers, dialect: undefined, keys: [], baseUrlVariable: '', isKeyOptional: true })
