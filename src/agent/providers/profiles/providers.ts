/** All providers, in the order in which a key decides the default model. */

import * as gateways from './gateways.ts'
import * as makers from './makers.ts'
import * as own from './own.ts'
import { type Provider, provider } from './profile.ts'

export type { Provider } from './profile.ts'

export const providers: readonly Provider[] = [
  makers.openai,
  makers.anthropic,
  gateways.openrouter,
  gateways.nous,
  makers.gemini,
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
  makers.upstage,
  makers.stepfun,
  makers.arcee,
  makers.xiaomi,
  makers.metaAi,
  gateways.kilocode,
  gateways.opencodeZen,
  gateways.opencodeGo,
  gateways.aiGateway,
  own.azureFoundry,
  own.bedrock,
  own.ollamaCloud,
  own.lmstudio,
  own.custom,
  own.workersAi,
  own.demo,
]

const byName = new Map(providers.flatMap((one) => [one.id, ...(one.aliases ?? [])].map((name) => [name, one])))

export const providerOf = (name: string): Provider | undefined => byName.get(name)

/** A provider that a tenant has written down, `custom:<name>`. Keys of the deployment are never sent there. */
export const ownProvider = (id: string, baseUrl: string, headers: Provider['headers'] = {}): Provider =>
  provider({ id, baseUrl, headers, dialect: undefined, keys: [], baseUrlVariable: '', optionalKey: true })
