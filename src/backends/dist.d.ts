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

declare module '*/anthropic.inline.mjs' {
  export { BaseAnthropic } from '@anthropic-ai/sdk/client'
}

declare module '*/search.inline.mjs' {
  export const matchLines: import('./search/protocol.ts').MatchLines
}

declare module '*/office.inline.mjs' {
  export const read: import('./office/protocol.ts').ReadOffice
}
