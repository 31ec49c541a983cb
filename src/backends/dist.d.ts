/** Types of the bundles of scripts/build-isolate.mjs: text for a Worker Loader, and modules for deployments without one. */

declare module '*.isolate.txt' {
  const code: string
  export default code
}

declare module '*/bash.inline.mjs' {
  export const runShell: import('./virtual/protocol.ts').RunShell
}

declare module '*/pdf.inline.mjs' {
  export const read: import('./pdf/protocol.ts').ReadPdf
}

declare module '*/jose.inline.mjs' {
  export { createLocalJWKSet, decodeJwt, errors, jwtVerify } from 'jose'
}

declare module '*/openapi.inline.mjs' {
  // The routes of the worker, which this floor does not know.
  export const renderDocument: (routes: readonly unknown[], origin: string) => object
  export const renderReferencePage: (routes: readonly unknown[]) => string
  export const referencePolicy: string
}

declare module '*/json-schema.inline.mjs' {
  export const validateJson: import('./json-schema/protocol.ts').ValidateJson
}

declare module '*/shell-policy.inline.mjs' {
  export const shellPolicy: import('#agent/core/permission/shell-policy.ts').ShellPolicy
}

declare module '*/anthropic.inline.mjs' {
  export const anthropic: typeof import('./dialects/anthropic.ts').anthropic
}

declare module '*/bedrock.inline.mjs' {
  export const bedrockConverse: typeof import('./dialects/bedrock.ts').bedrockConverse
}

declare module '*/openai.inline.mjs' {
  const module: typeof import('./dialects/openai.ts')
  export const getClient: typeof module.getClient
  export const openaiChat: typeof module.openaiChat
  export const openaiResponses: typeof module.openaiResponses
}

declare module '*/demo.inline.mjs' {
  export const demo: typeof import('./dialects/demo.ts').demo
}

declare module '*/workers-ai.inline.mjs' {
  export const workersAi: typeof import('./dialects/workers-ai.ts').workersAi
}

declare module '*/page.inline.mjs' {
  export const read: import('./web/page/protocol.ts').ReadPage
}

declare module '*/search.inline.mjs' {
  export const matchLines: import('./search/protocol.ts').MatchLines
}

declare module '*/office.inline.mjs' {
  export const read: import('./office/protocol.ts').ReadOffice
}

declare module '*/skills.inline.mjs' {
  const module: import('./skills/protocol.ts').SkillModule
  export const parseSkillFile: typeof module.parseSkillFile
  export const bundledSkills: typeof module.bundledSkills
  export const importSkill: typeof module.importSkill
}

declare module '*/skill-index.inline.mjs' {
  export const bundledIndex: readonly import('#agent/core/skills/skill-material.ts').IndexedSkill[]
}
