/** What scripts/build-isolate.mjs makes: text for a loader of isolates, modules for where there is none. */

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
